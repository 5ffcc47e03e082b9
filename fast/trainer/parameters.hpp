#pragma once

#include <string>
#include <vector>

#include "attn/adamw.hpp"
#include "attn/language_model.hpp"
#include "attn/parameters.hpp"
#include "panels.hpp"

namespace attn::fast {

/// Where a matrix is among the numbers of all parameters, or of all gradients: in strips (train_kernels.hpp), the last
/// of them filled up with zeros. A row, such as a bias, is a matrix of one row.
struct Place {
  std::size_t first = 0;  ///< number
  std::size_t rows = 0, columns = 0;
  bool decayed = false;

  bool empty() const { return rows == 0; }
};

struct NormPlaces {
  Place weight, bias;  ///< (1 x E); no bias: RMSNorm
};

struct LinearPlaces {
  Place weight;  ///< (in x out)
  Place bias;    ///< (1 x out), or empty
};

/// What one product computes is one matrix here: queries, keys and values; gate and up.
struct BlockPlaces {
  NormPlaces attention_norm;
  LinearPlaces qkv;     ///< E -> (H + 2 G) D
  LinearPlaces output;  ///< H D -> E
  NormPlaces feed_forward_norm;
  LinearPlaces up;    ///< E -> F, or for SwiGLU 2 F: [gate | up]
  LinearPlaces down;  ///< F -> E
};

inline constexpr std::size_t numbers_per_task = 1 << 14;  ///< where a task is the same for all parameters

/// A model's parameters in float, and where each is in this array. Their gradients, and AdamW's m and v, are in arrays
/// with the same places.
class TrainerParameters {
 public:
  /// Copies the values, as float.
  ///
  /// @param config checked, with head_dim
  /// @param views  in the order of parameters_of(model)
  /// @param R      columns of a strip
  /// @throws std::invalid_argument naming parameters, when these are not the model's.
  TrainerParameters(const LanguageModelConfig& config, const std::vector<ParameterView>& views, std::size_t R);

  Place tokens, positions, head;  ///< (V x E), (P x E) or empty, (E x V) or empty
  std::vector<BlockPlaces> blocks;
  NormPlaces final_norm;

  const float* value(const Place& place) const { return place.empty() ? nullptr : values.data() + place.first; }

  /// How many numbers each array has.
  std::size_t size() const { return size_; }

  /// Whether weight decay acts on the numbers from here on, and where that ends.
  struct Section {
    std::size_t first, count;
    bool decayed;
  };
  /// All numbers, at most numbers_per_task in each section.
  std::vector<Section> sections() const;

  /// @throws std::invalid_argument naming parameters, when these are not the model's.
  void require_own(const std::string& name, const std::vector<ParameterView>& views) const;

  /// Between one of the arrays and columns in the order of parameters_of(model).
  void read(const std::vector<const double*>& columns, const AlignedFloats& array) const;
  void write(const AlignedFloats& array, const std::vector<double*>& columns) const;

  /// Each parameter's numbers, how many.
  std::vector<std::size_t> sizes() const;

  AlignedFloats values;

 private:
  /// One of the model's parameters: all rows of some columns of a matrix.
  struct Piece {
    std::string name;
    Place place;
    std::size_t first_column, columns;
  };

  Place add(std::size_t rows, std::size_t columns, bool decayed);
  void name_piece(const std::string& name, const Place& place);
  NormPlaces add_norm(const std::string& name, std::size_t E, bool bias);
  LinearPlaces add_linear(const std::vector<std::string>& names, std::size_t inputs,
                          const std::vector<std::size_t>& outputs, bool bias);
  template <class Each>
  void for_numbers(const Piece& piece, Each each) const;

  std::size_t R_, size_ = 0;
  std::vector<Place> places_;
  std::vector<Piece> pieces_;
};

}  // namespace attn::fast
