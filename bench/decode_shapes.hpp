#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "attn/language_model.hpp"
#include "decoder_weights.hpp"

namespace attn::bench {

/// A model that is measured: its sizes, and where its weights are in a safetensors file.
class Shape {
 public:
  /// @param name   gpt2 (GPT-2 small, with 4096 positions) or llama (Llama 3.2 1B)
  /// @param number F32 or BF16
  /// @throws std::invalid_argument
  Shape(const std::string& name, const std::string& number);

  const LanguageModelConfig& config() const { return config_; }
  fast::Number number() const { return number_; }

  /// The whole file, with random weights: uniform, from a simple generator, as there may be a billion.
  void write(std::ostream& file) const;

  /// @param data the file's bytes
  fast::Tensors tensors(const char* data) const;

  std::size_t header_bytes() const { return 8 + header_.size(); }
  std::size_t bytes() const { return bytes_; }      ///< of all weights
  std::size_t bytes_of_a_token() const;             ///< of the weights that one token needs
  std::size_t bytes_of_cache(std::size_t L) const;  ///< keys and values of L tokens, of the weights' type
  std::size_t macs() const;                         ///< of the matrices in the blocks, for one token

 private:
  struct Entry {
    std::string name;
    std::vector<std::size_t> shape;
    std::size_t begin, size;  // bytes after the header, numbers
    bool is_norm, is_table;
  };

  void add(const std::string& name, std::vector<std::size_t> shape);
  void list_gpt2();
  void list_llama();

  LanguageModelConfig config_;
  fast::Number number_;
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
  std::string header_;
};

}  // namespace attn::bench
