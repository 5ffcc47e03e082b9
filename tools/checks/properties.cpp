#include "checks/properties.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attn/shape.hpp"
#include "attn/todo.hpp"
#include "checks/draw.hpp"
#include "checks/oracles.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using std::to_string;

const std::vector<std::string> output_axes = {"L", "E", "B"};

std::vector<std::string> weights_axes(uword num_heads) { return {"L", "L", num_heads == 1 ? "B" : "H·B"}; }

/// What attention_weights() must have: L x L x H·B.
std::vector<Axis> weights_shape(uword L, uword num_heads, uword B) {
  return {{"L (queries)", L}, {"L (keys)", L}, {num_heads == 1 ? "B" : "H·B", num_heads * B}};
}

bool equal(const arma::mat& a, const arma::mat& b, double tolerance = 1e-12) {
  return arma::size(a) == arma::size(b) && (a.is_empty() || arma::approx_equal(a, b, "absdiff", tolerance));
}

bool differs(const arma::cube& a, const arma::cube& b, double tolerance) {
  return arma::size(a) != arma::size(b) || !arma::approx_equal(a, b, "absdiff", tolerance);
}

/// Query i may attend to the keys 0 to i.
Mask causal(uword L) {
  Mask mask(L, L, 1, arma::fill::zeros);
  for (uword i = 0; i < L; ++i) mask.slice(0).row(i).head(i + 1).ones();
  return mask;
}

/// The part of a mask that is sequence b's, of B.
Mask mask_of(const Mask& mask, uword b, uword B) {
  if (mask.n_slices < B) return mask;  // none, or shared by all
  const uword each = mask.n_slices / B;
  return mask.slices(b * each, (b + 1) * each - 1);
}

arma::cube part_of(const arma::cube& x, uword n, uword count) {
  const uword each = x.n_slices / count;
  return x.slices(n * each, (n + 1) * each - 1);
}

/// What a mask may hold instead of 1.
const std::vector<uword> other_ones = {3, 5, 7};

std::string mask_note(uword number) {
  return note("the mask holds " + to_string(number) + " instead of 1 here; any number but 0 means may attend");
}

arma::cube project(const Linear& layer, const arma::cube& x) { return naive_linear(x, layer.weight, layer.bias); }

}  // namespace

std::string refusal(FunctionView<void()> call) {
  try {
    call();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    return type_name(error) + ": " + error.what();
  }
  return {};
}

::testing::AssertionResult RejectsOrNames::operator()(const char* text, FunctionView<void()> call) const {
  ::testing::AssertionResult result = rejects_(text, call);
  if (!result && !likely_.empty() && refusal(call).empty()) result << likely_;
  return result;
}

Projections thirds_of(const std::string& name, const Linear& projection) {
  const uword width = projection.weight.n_cols / 3;
  Projections thirds;
  for (const std::string part : {"queries", "keys", "values"}) {
    const uword first = thirds.size() * width, last = first + width - 1;
    Linear third = projection;
    third.weight = projection.weight.cols(first, last);
    if (!projection.bias.is_empty()) third.bias = projection.bias.cols(first, last);
    thirds.emplace_back("the third of " + name + " for the " + part, third);
  }
  return thirds;
}

Attended naive_multi_head(const Projections& projections, uword num_heads, const arma::cube& query,
                          const arma::cube& key, const arma::cube& value, const Mask& mask, const Mask& keep,
                          double p) {
  const auto heads = [&](std::size_t i, const arma::cube& x) {
    return naive_split_heads(project(projections[i].second, x), num_heads);
  };
  arma::cube weights = naive_attention_weights(heads(0, query), heads(1, key), mask);
  for (uword i = 0; i < keep.n_elem; ++i) weights(i) = keep(i) != 0 ? weights(i) / (1 - p) : 0;
  const arma::cube context = naive_merge_heads(naive_mix(weights, heads(2, value)), num_heads);
  return {project(projections[3].second, context), weights};
}

// ---------------------------------------------------------------------------------------------------- a new layer

void expect_four_projections_with_bias(const Projections& projections, uword embed_dim, const std::string& likely) {
  for (const auto& [name, layer] : projections) {
    EXPECT_THAT(layer.weight, HasShape({{"E (in)", embed_dim}, {"E (out)", embed_dim}})) << note("this is " + name);
    ASSERT_HOLDS(!layer.bias.is_empty(), name + " has no bias") << likely;
    EXPECT_THAT(arma::mat(layer.bias), HasShape({{"1", 1}, {"E (out)", embed_dim}})) << note("this is " + name);
  }
}

void expect_drawn_as_linear_draws(const Projections& projections, bool with_bias) {
  for (const auto& [name, layer] : projections) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.weight.n_rows));
    const arma::mat bias = layer.bias;
    for (const arma::mat* part : {&layer.weight, &bias}) {
      if (part == &bias && !with_bias) continue;
      // Uniform numbers have a standard deviation of 0.58 bounds.
      const bool as_drawn =
          !part->is_empty() && arma::abs(*part).max() <= bound && arma::stddev(arma::vectorise(*part)) > 0.425 * bound;
      EXPECT_HOLDS(as_drawn, name + (part == &bias ? ".bias" : ".weight") + " is not as Linear draws it")
          << note("construct each Linear with its sizes, and leave its weight and bias alone");
    }
  }
}

void expect_draws_each_projection_anew(const Projections& projections) {
  for (std::size_t i = 0; i < projections.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_HOLDS(!equal(projections[i].second.weight, projections[j].second.weight),
                   projections[j].first + " and " + projections[i].first + " have the same weight")
          << note("one Linear was copied; construct each with its sizes");
    }
  }
}

void expect_leaves_seeding_to_the_caller(const std::string& what, FunctionView<arma::mat()> draw,
                                         const std::string& likely) {
  const auto next_number_after = [&](arma::arma_rng::seed_type seed) {
    arma::arma_rng::set_seed(seed);
    draw();
    return arma::randu();
  };
  EXPECT_HOLDS(next_number_after(1) != next_number_after(2),
               "whatever seed the caller sets, the same numbers follow after " + what)
      << note("it seeds the generator itself; leave that to the caller") << likely;
  const arma::mat first = draw(), second = draw(), third = draw();
  EXPECT_HOLDS(!equal(first, second) && !equal(second, third), what + " draws the same numbers at every call")
      << note("it seeds the generator itself; leave that to the caller");
  arma::arma_rng::set_seed(9);
  const arma::mat once = draw();
  arma::arma_rng::set_seed(9);
  EXPECT_HOLDS(equal(once, draw()), "the caller set the same seed twice, and " + what + " drew other numbers")
      << note("draw from Armadillo's generator, such as arma::randu, and do not seed it");
}

void expect_leaves_the_generator_alone(const std::string& what, FunctionView<void()> call) {
  arma::arma_rng::set_seed(3);
  call();
  const double after_the_call = arma::randu();
  arma::arma_rng::set_seed(3);
  EXPECT_HOLDS(after_the_call == arma::randu(), what + " changed the state of the random generator")
      << note("nothing is drawn here; leave the generator to the caller");
}

void expect_new_dropout(const Dropout& dropout, double p) {
  EXPECT_HOLDS(dropout.p() == p, "dropout.p() is " + to_string(dropout.p()) + ", want " + to_string(p))
      << note("it is the dropout_p that the constructor was given, or else its default");
  EXPECT_HOLDS(dropout.training(), "a new layer's dropout is not training")
      << note("leave it as Dropout makes it: eval() is for the layer's user to call");
}

void expect_rejects_impossible_sizes(FunctionView<void(uword embed_dim, uword num_heads)> make,
                                     const std::string& likely) {
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [&] { make(0, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [&] { make(6, 0); });
  const std::vector<std::pair<uword, uword>> indivisible = {{7, 2}, {7, 3}, {4, 8}, {3, 6}, {3, 12}, {6, 12}, {12, 5}};
  for (const auto& sizes : indivisible) {
    const RejectsArgument rejects("embed_dim", {to_string(sizes.first), to_string(sizes.second)});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely), [&] { make(sizes.first, sizes.second); })
        << note("embed_dim is " + to_string(sizes.first) + ", num_heads is " + to_string(sizes.second));
  }
}

void expect_rejects_impossible_probabilities(FunctionView<void(double p)> make) {
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"-0.1"}), [&] { make(-0.1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"-0.5"}), [&] { make(-0.5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"1"}), [&] { make(1.0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"1.5"}), [&] { make(1.5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"nan"}), [&] { make(std::numeric_limits<double>::quiet_NaN()); });
}

// -------------------------------------------------------------------------------------------------- self-attention

void expect_equals_pytorch(const SelfAttention& attention, const GoldenCase& golden, const std::string& about) {
  const Mask mask = golden.has("mask") ? golden.mask("mask") : Mask();
  const arma::cube X = golden.cube("X");
  EXPECT_THAT(attention.forward(X, mask), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
}

void expect_follows_permuted_tokens(const SelfAttention& attention, const arma::cube& X) {
  const arma::uvec order = shuffled(X.n_rows);
  const arma::cube output = attention.forward(X);
  ASSERT_THAT(output, HasShape({{"L", X.n_rows}, {"E", X.n_cols}, {"B", X.n_slices}}));
  EXPECT_THAT(attention.forward(reordered(X, order)), IsNear(reordered(output, order), output_axes))
      << note("attention knows no order: permuted tokens must give the same rows, permuted");
}

void expect_keeps_the_batch_apart(const SelfAttention& attention, const arma::cube& X, const Mask& mask) {
  const uword L = X.n_rows, B = X.n_slices;
  const arma::cube together = attention.forward(X, mask);
  const arma::cube weights = attention.attention_weights();
  ASSERT_THAT(together, HasShape({{"L", L}, {"E", X.n_cols}, {"B", B}}));
  const uword H = std::max<uword>(1, weights.n_slices / B);
  ASSERT_THAT(weights, HasShape(weights_shape(L, H, B)));
  for (uword b = 0; b < B; ++b) {
    const std::string about =
        note("this is sequence " + to_string(b) + " of the batch; alone, the same sequence gives what is wanted");
    const arma::cube alone = attention.forward(X.slices(b, b), mask_of(mask, b, B));
    EXPECT_THAT(part_of(together, b, B), IsNear(alone, output_axes)) << about;
    EXPECT_THAT(part_of(weights, b, B), IsNear(attention.attention_weights(), weights_axes(H))) << about;
  }
}

void expect_blocks_the_future(const SelfAttention& attention, const arma::cube& X) {
  const uword L = X.n_rows;
  const arma::cube before = attention.forward(X, causal(L));
  arma::cube other_end = X;
  other_end.rows(L - 2, L - 1) = 1 - 3 * X.rows(L - 2, L - 1);
  const arma::cube after = attention.forward(other_end, causal(L));
  ASSERT_THAT(after, HasShape({{"L", L}, {"E", X.n_cols}, {"B", X.n_slices}}));
  EXPECT_THAT(arma::cube(after.rows(0, L - 3)), IsNear(arma::cube(before.rows(0, L - 3)), output_axes))
      << note("only the last two tokens were changed, and the mask is causal: the rows before must stay as they were");
  EXPECT_HOLDS(differs(after.rows(L - 2, L - 1), before.rows(L - 2, L - 1), 1e-6),
               "the last two tokens were changed, and their own rows of the output were not");
}

void expect_takes_any_number_but_zero(const SelfAttention& attention, const arma::cube& X, const Mask& mask) {
  const arma::cube output = attention.forward(X, mask), weights = attention.attention_weights();
  for (const uword number : other_ones) {
    EXPECT_THAT(attention.forward(X, number * mask), IsNear(output, output_axes)) << mask_note(number);
    EXPECT_THAT(attention.attention_weights(), IsNear(weights, {"L (queries)", "L (keys)", "slices"}))
        << mask_note(number);
  }
}

void expect_drops_anew(const SelfAttention& attention, const arma::cube& X) {
  arma::arma_rng::set_seed(7);
  attention.forward(X);
  const arma::cube first = attention.attention_weights();
  attention.forward(X);
  EXPECT_HOLDS(differs(first, attention.attention_weights(), 1e-12), "two calls in training dropped the same weights")
      << note("call dropout(...) on the weights in forward; do not seed, and do not keep a mask");
  EXPECT_HOLDS(arma::any(arma::vectorise(first) == 0) && arma::any(arma::vectorise(first) != 0),
               "in training, with p = 0.5, no weight was dropped, or every one");
  attention.forward(X, ones(X.n_rows, X.n_rows, 1));
  EXPECT_HOLDS(arma::any(arma::vectorise(attention.attention_weights()) == 0),
               "in training, with p = 0.5 and a mask that blocks nothing, no weight was dropped")
      << note("the mask does not decide whether dropout drops: a mask of ones gives what no mask gives");
}

void expect_keeps_the_weights_after_dropout(const SelfAttention& attention, Dropout& dropout, uword embed_dim,
                                            uword num_heads) {
  constexpr uword L = 5, B = 2;
  dropout.inject(ones(L, L, num_heads * B));
  Mask first_key_only(L, L, 1, arma::fill::zeros);
  first_key_only.slice(0).col(0).ones();
  attention.forward(normal(L, embed_dim, B), first_key_only);
  arma::cube wanted = zeros(L, L, num_heads * B);
  wanted.each_slice([](arma::mat& slice) { slice.col(0).fill(1 / 0.9); });
  EXPECT_THAT(attention.attention_weights(), IsNear(wanted, weights_axes(num_heads)))
      << note("one key may be attended to, and dropout keeps it: its weight is 1 / (1 - 0.1), which reads 1.1111");
}

void expect_starts_afresh(const SelfAttention& attention, const GoldenCase& golden) {
  const arma::cube X = golden.cube("X");
  const uword L = X.n_rows, B = X.n_slices, H = golden.cube("weights").n_slices / B;
  EXPECT_HOLDS(attention.attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with other arguments; nothing of that call may be left");
  if (attention.takes_masks()) {
    attention.forward(-2 * X.slices(0, 0), Mask(L, L, 1, arma::fill::zeros));
    attention.forward(-2 * X, causal(L));
    expect_equals_pytorch(attention, golden, about);
  }
  attention.forward(-2 * X);
  expect_equals_pytorch(attention, golden, about);
  attention.forward(X.slices(0, 0));
  EXPECT_THAT(attention.attention_weights(), HasShape(weights_shape(L, H, 1))) << about;
  attention.forward(X.rows(0, L - 2));
  EXPECT_THAT(attention.attention_weights(), HasShape(weights_shape(L - 1, H, B))) << about;
}

void expect_passes_on_a_nan(const SelfAttention& attention, arma::cube X,
                            FunctionView<Attended(const arma::cube& X)> definition) {
  X(2, 1, 0) = arma::datum::nan;
  const arma::cube output = attention.forward(X);
  expect_nan_as_wanted({output, attention.attention_weights()}, definition(X),
                       note("token 2 of sequence 0 holds NaN: every query of that sequence gets NaN, no other one"));
}

void expect_rejects_inputs(const SelfAttention& attention, uword embed_dim) {
  const uword E = embed_dim;
  for (uword width = 1; width <= 3 * E; ++width) {
    const arma::cube X = zeros(5, width, 2);
    if (width == E) continue;
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X), to_string(E)}), [&] { attention.forward(X); });
  }
  if (E != 5) {
    const arma::cube turned = zeros(E, 5, 2);
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(turned), to_string(E)}), [&] { attention.forward(turned); });
  }
  for (const arma::SizeCube size :
       {arma::SizeCube(0, 0, 0), arma::SizeCube(0, E, 2), arma::SizeCube(5, 0, 2), arma::SizeCube(5, E, 0)}) {
    const arma::cube X(size);
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X)}), [&] { attention.forward(X); });
  }
}

void expect_rejects_masks(const SelfAttention& attention, const arma::cube& X, uword num_heads,
                          const std::string& likely) {
  const uword L = X.n_rows, B = X.n_slices, slices = num_heads * B;
  std::vector<std::string> right;
  for (const uword n : {uword{1}, B, slices}) right.push_back(shape_text(ones(L, L, n)));
  const auto reject = [&](const Mask& mask, const std::string& named) {
    std::vector<std::string> words = right;
    words.push_back(shape_text(mask));
    EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("mask", words), named), [&] { attention.forward(X, mask); });
  };
  for (uword n = 2; n <= 3 * slices; ++n) {
    if (n != B && n != slices) reject(ones(L, L, n), likely);
  }
  for (const uword n : {uword{1}, B, slices}) {
    for (const uword wrong : {uword{1}, L - 1, L + 1, L + 2, X.n_cols == L ? 2 * L : X.n_cols}) {
      reject(ones(wrong, L, n), "");
      reject(ones(L, wrong, n), "");
    }
  }
}

// ------------------------------------------------------------------------------------------------------ any function

void expect_nan_as_wanted(const Attended& attended, const Attended& wanted, const std::string& about) {
  EXPECT_THAT(attended.weights, IsNear(wanted.weights, {"L", "S", "slices"}))
      << about << (hides_nan(attended.weights, wanted.weights) ? likely_mistake("nan_hidden") : "");
  EXPECT_THAT(attended.output, IsNear(wanted.output, output_axes)) << about;
}

void expect_keeps_apart(const std::string& what, uword count, const arma::cube& together,
                        FunctionView<arma::cube(uword n)> alone) {
  ASSERT_HOLDS(together.n_slices >= count && together.n_slices % count == 0,
               to_string(together.n_slices) + " slices for " + to_string(count) + " " + what + "s");
  for (uword n = 0; n < count; ++n) {
    EXPECT_THAT(part_of(together, n, count), IsNear(alone(n)))
        << note("this is " + what + " " + to_string(n) + "; alone, the same " + what + " gives what is wanted");
  }
}

void expect_follows_permuted_queries(FunctionView<arma::cube(const arma::cube& Q)> forward, const arma::cube& Q) {
  const arma::uvec order = shuffled(Q.n_rows);
  const arma::cube output = forward(Q);
  ASSERT_HOLDS(output.n_rows == Q.n_rows, "the result is " + shape_text(output) + " for queries of " + shape_text(Q));
  EXPECT_THAT(forward(reordered(Q, order)), IsNear(reordered(output, order)))
      << note("the queries were put in another order: the rows of the output must follow them");
}

void expect_ignores_the_order_of_keys(
    FunctionView<arma::cube(const arma::cube& K, const arma::cube& V, const Mask& mask)> forward, const arma::cube& K,
    const arma::cube& V, const Mask& mask) {
  const arma::uvec order = shuffled(K.n_rows);
  const Mask mask_reordered = mask.is_empty() ? mask : reordered_columns(mask, order);
  const arma::cube output = forward(K, V, mask);
  EXPECT_THAT(forward(reordered(K, order), reordered(V, order), mask_reordered), IsNear(output))
      << note("keys, values and the columns of a mask were put in another order, all in the same: nothing may change");
}

void expect_takes_any_number_but_zero(FunctionView<arma::cube(const Mask& mask)> forward, const Mask& mask) {
  const arma::cube wanted = forward(mask);
  for (const uword number : other_ones) {
    EXPECT_THAT(forward(number * mask), IsNear(wanted)) << mask_note(number);
  }
}

void expect_leaves_its_arguments(const std::string& what, const std::vector<Argument>& arguments,
                                 FunctionView<void()> call) {
  std::vector<arma::cube> before;
  for (const Argument& argument : arguments) before.push_back(argument.values());
  call();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    EXPECT_THAT(arguments[i].values(), IsNear(before[i], {"rows", "columns", "slices"}, 0))
        << note(what + " changed " + arguments[i].name());
  }
}

void expect_unchanged(const Projections& before, const Projections& after, const std::string& by) {
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Linear& was = before[i].second;
    const Linear& is = after[i].second;
    EXPECT_HOLDS(equal(is.weight, was.weight, 0), by + " changed " + before[i].first + ".weight");
    EXPECT_HOLDS(equal(is.bias, was.bias, 0), by + " changed " + before[i].first + ".bias");
  }
}

}  // namespace attn::judge
