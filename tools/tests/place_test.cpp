// Where a failing check's function is, in the learner's file.
#include "verdict/place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attn::judge {
namespace {

const std::string code = R"(#include "attn/dropout.hpp"
// forward(X) comes later
namespace attn {
namespace {
arma::mat half(const arma::mat& x) { return x / 2; }
}  // namespace

Dropout::Dropout(double p) : p_{p}, text_("forward(") {
  if (p < 0) throw std::invalid_argument("p");
}

SelfAttention::SelfAttention(arma::uword dim) : query_proj(dim, dim), dropout(dim) {}

/* a { brace */
arma::cube SelfAttention::forward(const arma::cube& X) const {
  const auto twice = [](double x) { return 2 * x; };
  for (double x : X) { twice(x); }
  return X;
}

arma::cube Dropout::operator()(const arma::cube& x) {
  return x;
}
const std::vector<int> sizes = {1, 2};
}  // namespace attn
)";

int line_of_task(const std::string& title, const std::vector<Definition>& definitions, const std::string& judged = "") {
  const auto function = function_of_task(title, definitions, judged);
  return function ? function->line : 0;
}

TEST(Place, FindsTheFunctionThatATaskNames) {
  const auto definitions = definitions_in(code);
  ASSERT_EQ(definitions.size(), 5U);
  EXPECT_EQ(line_of_task("half", definitions), 5);
  EXPECT_EQ(line_of_task("The constructor of Dropout", definitions), 8);
  EXPECT_EQ(line_of_task("The constructor of `SelfAttention`", definitions), 12);
  EXPECT_EQ(line_of_task("forward, up to the weights", definitions), 15);
  EXPECT_EQ(line_of_task("operator()", definitions), 21);
  EXPECT_EQ(function_of_task("operator()", definitions)->name, "operator()");
  EXPECT_TRUE(function_of_task("The constructor of Dropout", definitions)->is_constructor());
  EXPECT_FALSE(function_of_task("forward", definitions)->is_constructor());
}

TEST(Place, NamesNoLineWhereItIsNotClear) {
  const auto definitions = definitions_in(code);
  EXPECT_EQ(line_of_task("The constructor", definitions), 0);
  EXPECT_EQ(line_of_task("forward and half", definitions), 0);
  EXPECT_EQ(line_of_task("What it costs", definitions), 0);
  EXPECT_EQ(line_of_task("", {}), 0);
}

TEST(Place, TakesTheOnlyFunctionOfAFile) {
  EXPECT_EQ(line_of_task("What it costs", definitions_in("struct A;\n\nint cost(int n) {\n  return n;\n}\n")), 3);
}

TEST(Place, TellsTheFunctionsOfATaskApart) {
  const auto definitions =
      definitions_in("cube gelu(cube x) {\n}\ncube gelu_tanh(cube x) {\n}\ncube silu(cube x) {\n}\n");
  const std::string title = "gelu, gelu_tanh, silu";
  EXPECT_EQ(line_of_task(title, definitions, "Gelu.EqualsPyTorch"), 1);
  EXPECT_EQ(line_of_task(title, definitions, "GeluTanh.EqualsPyTorch"), 3);
  EXPECT_EQ(line_of_task(title, definitions, "Activations.Finite\nsilu(x)"), 5);
  EXPECT_EQ(line_of_task(title, definitions, "Activations.Finite"), 0);
}

TEST(Place, NamesWhatAClassComputes) {
  const auto definitions = definitions_in(
      "Norm::Norm(int dim) : dim_(dim) {}\n\ncube Norm::operator()(const cube& x) const {\n}\n"
      "RMSNorm::RMSNorm(int dim) : dim_(dim) {}\n");
  EXPECT_EQ(line_of_task("Norm", definitions, "Norm.EqualsPyTorch"), 3);
  EXPECT_EQ(line_of_task("Norm", definitions, "Norm.BeginsWithOnes"), 1);
  EXPECT_EQ(line_of_task("The constructor of Norm", definitions, "Norm.KeepsTheSizes"), 1);
}

TEST(Place, SeesTheFunctionsOfAClass) {
  const auto definitions = definitions_in(
      "class Layer {\n public:\n  Layer(int n) : n_(n) {}\n  int forward() {\n"
      "    return n_;\n  }\n\n private:\n  int n_ = 0;\n};\n");
  EXPECT_EQ(line_of_task("The class and its constructor", definitions), 3);
  EXPECT_EQ(line_of_task("forward and attention_weights", definitions), 4);
}

}  // namespace
}  // namespace attn::judge
