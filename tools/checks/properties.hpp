#pragma once

#include <armadillo>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "checks/function_view.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"

/// Properties that several lessons ask of their code, each written once. A check is a TEST that calls one of them:
/// its name is the property's, its suite says whose it is.
namespace attn::judge {

/// What a layer of attention gives.
struct Attended {
  arma::cube output;   ///< (L x E x B)
  arma::cube weights;  ///< (L x S x H·B)
};

/// A layer of self-attention as its properties see it, whatever its class. It refers to the layer.
class SelfAttention {
 public:
  template <class Layer>
  SelfAttention(Layer& layer)  // not explicit: a check hands over its layer
      : forward_([&layer](const arma::cube& X) -> arma::cube { return layer.forward(X); }),
        weights_([&layer]() -> arma::cube { return layer.attention_weights(); }) {
    if constexpr (std::is_invocable_v<MaskedForward, Layer&>) {
      masked_forward_ = [&layer](const arma::cube& X, const Mask& mask) -> arma::cube {
        return layer.forward(X, mask);
      };
    }
  }

  arma::cube forward(const arma::cube& X) const { return forward_(X); }
  arma::cube forward(const arma::cube& X, const Mask& mask) const {
    return mask.is_empty() ? forward_(X) : masked_forward_(X, mask);
  }
  arma::cube attention_weights() const { return weights_(); }
  bool takes_masks() const { return static_cast<bool>(masked_forward_); }

 private:
  struct MaskedForward {
    template <class Layer>
    auto operator()(Layer& layer) const
        -> decltype(layer.forward(std::declval<const arma::cube&>(), std::declval<const Mask&>()));
  };

  std::function<arma::cube(const arma::cube&)> forward_;
  std::function<arma::cube(const arma::cube&, const Mask&)> masked_forward_;
  std::function<arma::cube()> weights_;
};

/// The linear layers of a layer, as they are at this moment: name and copy.
using Projections = std::vector<std::pair<std::string, Linear>>;

/// Query, key, value and output projection.
template <class Layer>
Projections projections_of(const Layer& layer) {
  return {{"query_proj", layer.query_proj},
          {"key_proj", layer.key_proj},
          {"value_proj", layer.value_proj},
          {"output_proj", layer.output_proj}};
}

/// One projection cut into three of equal width: those of the queries, the keys and the values.
Projections thirds_of(const std::string& name, const Linear& projection);

/// A layer with the four projections of a golden case.
template <class Layer>
Layer with_projections(Layer layer, const GoldenCase& golden) {
  layer.query_proj = golden.linear("query_proj");
  layer.key_proj = golden.linear("key_proj");
  layer.value_proj = golden.linear("value_proj");
  layer.output_proj = golden.linear("output_proj");
  return layer;
}

/// What multi-head attention gives, one number at a time: query, key, value and output projection, in this order. After
/// the softmax, `keep` and p do what dropout does with them.
Attended naive_multi_head(const Projections& projections, arma::uword num_heads, const arma::cube& query,
                          const arma::cube& key, const arma::cube& value, const Mask& mask = {}, const Mask& keep = {},
                          double p = 0);

/// What a call throws, in words; empty when it throws nothing. Code that is not written yet does not count.
std::string refusal(FunctionView<void()> call);

/// As RejectsArgument, with the mistake to name when the call throws nothing.
class RejectsOrNames {
 public:
  RejectsOrNames(RejectsArgument rejects, std::string likely)
      : rejects_(std::move(rejects)), likely_(std::move(likely)) {}

  ::testing::AssertionResult operator()(const char* text, FunctionView<void()> call) const;

 private:
  RejectsArgument rejects_;
  std::string likely_;
};

// ---------------------------------------------------------------------------------------------------- a new layer

/// HasFourProjectionsWithBias: E x E each, with a bias of E. `likely` is named when a bias is missing.
void expect_four_projections_with_bias(const Projections& projections, arma::uword embed_dim,
                                       const std::string& likely);

/// KeepsWhatLinearDraws: weight and bias are within 1/sqrt(in), and spread as uniform numbers are. About 50 inputs or
/// more; `with_bias` says whether there must be biases.
void expect_drawn_as_linear_draws(const Projections& projections, bool with_bias = true);

/// DrawsEachProjectionAnew: no two have the same weight.
void expect_draws_each_projection_anew(const Projections& projections);

/// LeavesSeedingToTheCaller: what `draw` makes differs from call to call, is the same for the same seed, and the
/// caller's seed decides which numbers follow. `what` is the function's or the class's name.
/// `likely` is named when the caller's seed decides nothing.
void expect_leaves_seeding_to_the_caller(const std::string& what, FunctionView<arma::mat()> draw,
                                         const std::string& likely = "");

/// LeavesTheGeneratorAlone: nothing is drawn.
void expect_leaves_the_generator_alone(const std::string& what, FunctionView<void()> call);

/// A new layer's dropout has this probability, and is training.
void expect_new_dropout(const Dropout& dropout, double p);

/// RejectsImpossibleSizes: zeros, and heads that do not divide the width. `likely` is named when those are accepted.
void expect_rejects_impossible_sizes(FunctionView<void(arma::uword embed_dim, arma::uword num_heads)> make,
                                     const std::string& likely = "");

/// RejectsAnImpossibleProbability: what is not in 0 <= p < 1.
void expect_rejects_impossible_probabilities(FunctionView<void(double p)> make);

// -------------------------------------------------------------------------------------------------- self-attention

/// EqualsPyTorch: output and weights of a golden case, under its mask if it has one.
void expect_equals_pytorch(const SelfAttention& attention, const GoldenCase& golden, const std::string& about = "");

/// FollowsPermutedTokens: the same tokens in another order give the same rows, in that order.
void expect_follows_permuted_tokens(const SelfAttention& attention, const arma::cube& X);

/// KeepsTheBatchApart: each sequence gives alone, with its part of the mask, what it gives in the batch.
void expect_keeps_the_batch_apart(const SelfAttention& attention, const arma::cube& X, const Mask& mask = {});

/// BlocksTheFuture: under a causal mask the last two tokens change their own rows, and no other.
void expect_blocks_the_future(const SelfAttention& attention, const arma::cube& X);

/// TakesAnyNumberButZeroAsAllowed, of output and weights.
void expect_takes_any_number_but_zero(const SelfAttention& attention, const arma::cube& X, const Mask& mask);

/// DropsAnewAtEveryCall: of a layer that is training, with p = 0.5.
void expect_drops_anew(const SelfAttention& attention, const arma::cube& X);

/// KeepsTheWeightsAfterDropout: of a layer whose dropout has p = 0.1.
void expect_keeps_the_weights_after_dropout(const SelfAttention& attention, Dropout& dropout, arma::uword embed_dim,
                                            arma::uword num_heads = 1);

/// StartsAfresh: there are no weights before the first call, and nothing of an earlier call is left in a later one. A
/// new layer, and its golden case.
void expect_starts_afresh(const SelfAttention& attention, const GoldenCase& golden);

/// PassesOnANaN: token 2 of sequence 0 becomes NaN, and output and weights are what the definition then gives.
void expect_passes_on_a_nan(const SelfAttention& attention, arma::cube X,
                            FunctionView<Attended(const arma::cube& X)> definition);

/// RejectsAnInputOfTheWrongShape: X is L x embed_dim x B.
void expect_rejects_inputs(const SelfAttention& attention, arma::uword embed_dim);

/// RejectsAMaskOfTheWrongShape: all but L x L x 1, L x L x B and L x L x H·B. `likely` is named when a wrong number of
/// slices is accepted.
void expect_rejects_masks(const SelfAttention& attention, const arma::cube& X, arma::uword num_heads = 1,
                          const std::string& likely = "");

// ------------------------------------------------------------------------------------------------------ any function

/// What comes out where a NaN goes in: `wanted` has NaN where it belongs. Names nan_hidden when it became zeros.
void expect_nan_as_wanted(const Attended& attended, const Attended& wanted, const std::string& about);

/// KeepsTheBatchApart and KeepsTheSlicesApart: part n of `together`, of as many parts as `count` says, is what the part
/// gives alone. `what` is "sequence" or "slice".
void expect_keeps_apart(const std::string& what, arma::uword count, const arma::cube& together,
                        FunctionView<arma::cube(arma::uword n)> alone);

/// FollowsPermutedQueries: the rows of the result follow the rows of Q.
void expect_follows_permuted_queries(FunctionView<arma::cube(const arma::cube& Q)> forward, const arma::cube& Q);

/// IgnoresTheOrderOfKeys: of keys, values and the columns of the mask, put in another order alike.
void expect_ignores_the_order_of_keys(
    FunctionView<arma::cube(const arma::cube& K, const arma::cube& V, const Mask& mask)> forward, const arma::cube& K,
    const arma::cube& V, const Mask& mask = {});

/// TakesAnyNumberButZeroAsAllowed: a mask may hold other numbers than 1.
void expect_takes_any_number_but_zero(FunctionView<arma::cube(const Mask& mask)> forward, const Mask& mask);

/// An argument of a function, by name; it refers to the argument.
class Argument {
 public:
  template <class Numbers>
  Argument(std::string name, const Numbers& x) : name_(std::move(name)), values_([&x] { return as_cube(x); }) {}

  const std::string& name() const { return name_; }
  arma::cube values() const { return values_(); }

 private:
  std::string name_;
  std::function<arma::cube()> values_;
};

/// LeavesItsArguments: a call of the function `what` changes none of them.
void expect_leaves_its_arguments(const std::string& what, const std::vector<Argument>& arguments,
                                 FunctionView<void()> call);

/// LeavesItsFields: the projections are, to the last bit, what they were.
void expect_unchanged(const Projections& before, const Projections& after, const std::string& by = "forward");

}  // namespace attn::judge
