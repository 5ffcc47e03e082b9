#pragma once

#include <armadillo>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "attn/language_model.hpp"
#include "attn/language_model_backward.hpp"

namespace attn {

/// One of a model's parameters, or its gradient: a name, and where the numbers are. It owns nothing: the model, or the
/// struct of gradients, must outlive it, and its matrices must keep their sizes.
struct ParameterView {
  std::string name;  ///< "blocks.0.attention.query_proj.weight"
  double* values = nullptr;
  arma::uword size = 0;  ///< how many numbers
  bool decayed = false;  ///< whether weight decay acts on it: on matrices, not on biases and the weights of norms

  /// All numbers as a column that shares the memory: `arma::vec x = view.vector(); x *= 2;` changes the model.
  arma::vec vector() const { return arma::vec(values, size, false, true); }
};

namespace detail {

/// Collects views. Matrices are decayed, rows are not; what is empty is left out.
class ViewList {
 public:
  void add(const std::string& name, arma::mat& x) { add(name, x, true); }
  void add(const std::string& name, arma::rowvec& x) { add(name, x, false); }

  /// A linear layer, a norm, or the gradients of one.
  template <typename Layer>
  void add_layer(const std::string& name, Layer& layer) {
    add(name + ".weight", layer.weight);
    if constexpr (!std::is_same_v<Layer, RMSNorm>) add(name + ".bias", layer.bias);
  }
  void add_layer(const std::string& name, AnyNorm& norm) {
    std::visit([&](auto& layer) { add_layer(name, layer); }, norm);
  }

  template <typename Network>
  void add_network(const std::string& name, Network& network) {
    if constexpr (!std::is_same_v<Network, FeedForward>) add_layer(name + ".gate_proj", network.gate_proj);
    add_layer(name + ".up_proj", network.up_proj);
    add_layer(name + ".down_proj", network.down_proj);
  }
  void add_network(const std::string& name, AnyFeedForward& network) {
    std::visit([&](auto& layer) { add_network(name, layer); }, network);
  }

  std::vector<ParameterView> views() && { return std::move(views_); }

 private:
  void add(const std::string& name, arma::mat& x, bool decayed) {
    if (!x.is_empty()) views_.push_back({name, x.memptr(), x.n_elem, decayed});
  }

  std::vector<ParameterView> views_;
};

inline arma::mat& token_weight(LanguageModel& model) { return model.token_embedding.weight; }
inline arma::mat& token_weight(LanguageModelGradients& gradients) { return gradients.token_embedding; }

/// Model and gradients have the same names, and so the same order.
template <typename Model>
std::vector<ParameterView> views_of(Model& model) {
  ViewList list;
  list.add("token_embedding", token_weight(model));
  list.add("position_embedding", model.position_embedding);
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    auto& block = model.blocks[n];
    const std::string name = "blocks." + std::to_string(n) + ".";
    list.add_layer(name + "attention_norm", block.attention_norm);
    list.add_layer(name + "attention.query_proj", block.attention.query_proj);
    list.add_layer(name + "attention.key_proj", block.attention.key_proj);
    list.add_layer(name + "attention.value_proj", block.attention.value_proj);
    list.add_layer(name + "attention.output_proj", block.attention.output_proj);
    list.add_layer(name + "feed_forward_norm", block.feed_forward_norm);
    list.add_network(name + "feed_forward", block.feed_forward);
  }
  list.add_layer("final_norm", model.final_norm);
  list.add("head", model.head);
  return std::move(list).views();
}

}  // namespace detail

/// All parameters of a model, each once: a tied head is the token embedding. Weights of linear layers, embeddings and the
/// head are decayed, as in nanoGPT: all that has two dimensions. Without the norms of qk_norm, which have no gradient in
/// lesson 26.
inline std::vector<ParameterView> parameters_of(LanguageModel& model) { return detail::views_of(model); }

/// The gradients of the same parameters, in the same order.
inline std::vector<ParameterView> parameters_of(LanguageModelGradients& gradients) {
  return detail::views_of(gradients);
}

/// Checks that there is one entry for each parameter, and that it has as many numbers. An entry is a view or a column.
///
/// @throws std::invalid_argument "gradients has 3 entries, expected 4, one for each parameter" or "gradients has 3
///         numbers for b, expected 5".
template <typename Entry>
void require_like(const std::string& name, const std::vector<Entry>& entries,
                  const std::vector<ParameterView>& parameters) {
  if (entries.size() != parameters.size()) {
    throw std::invalid_argument(name + " has " + std::to_string(entries.size()) + " entries, expected " +
                                std::to_string(parameters.size()) + ", one for each parameter");
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    arma::uword size = 0;
    if constexpr (std::is_same_v<Entry, ParameterView>) {
      size = entries[i].size;
    } else {
      size = entries[i].n_elem;
    }
    if (size != parameters[i].size) {
      throw std::invalid_argument(name + " has " + std::to_string(size) + " numbers for " + parameters[i].name +
                                  ", expected " + std::to_string(parameters[i].size));
    }
  }
}

}  // namespace attn
