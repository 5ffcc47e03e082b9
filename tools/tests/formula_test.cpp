// Formulas for terminals: the LaTeX of ```math blocks as plain text.
#include "lesson/formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PlainFormula, IsWhatOneWouldType) {
  const std::pair<const char*, const char*> formulas[] = {
      {R"(\text{softmax}\left(\frac{Q K^\top}{\sqrt{D}}\right) V)", "softmax(Q Kᵀ / √D) V"},
      {R"(dS = P \odot (dP - \text{rowsum}(P \odot dP)))", "dS = P ⊙ (dP − rowsum(P ⊙ dP))"},
      {R"(\frac{\partial L}{\partial x_{ij}} = \sum_j a_j \cdot b_{j})", "∂L / ∂x_ij = Σ_j a_j · b_j"},
      {R"(\sigma(z)_j=\frac{\exp(z_j - m)}{\sum_k \exp(z_k - m)},\quad m=\max_k z_k)",
       "σ(z)_j = exp(z_j − m) / (Σ_k exp(z_k − m)),   m = max_k z_k"},
      {R"(2^{-8 (h + 1) / H} + x^2 - y^{-1} + e^{i\theta})", "2^(−8 (h+1) / H) + x² − y⁻¹ + e^iθ"},
      {R"(W_{\text{out}} + x_{t-1} + z_{i,j})", "W_out + x_(t−1) + z_i,j"},
      {R"(\cos\theta - \log x, -a)", "cos θ − log x, −a"},
      {R"(\mathrm{log\_sum\_exp}(i) = \hat{m})", "log_sum_exp(i) = m\u0302"},
      {R"(Q \text{ and } K, \text{ a pair})", "Q and K, a pair"},
      {R"(x \gets x - \text{lr} \cdot m)", "x ← x − lr · m"},
  };
  for (const auto& [latex, text] : formulas) EXPECT_EQ(plain_formula(latex), std::string(text) + "\n") << latex;
}

TEST(PlainFormula, PutsAFractionInParenthesesWhereItCouldBeMisread) {
  const std::pair<const char*, const char*> formulas[] = {
      {R"(\frac{a + b}{c} + d)", "(a + b) / c + d"},
      {R"(\frac{a}{2 \pi n})", "a / (2 π n)"},
      {R"(\frac{a}{b} c)", "(a / b) c"},
      {R"(\frac{a}{b} \cdot c)", "(a / b) · c"},
      {R"(a \cdot \frac{b}{c})", "a · b / c"},
      {R"(\frac{1}{N} \sum_i x_i)", "(1 / N) Σ_i x_i"},
      {R"(\log \frac{a}{b})", "log (a / b)"},
      {R"(\frac{\frac{a}{b}}{c - 1})", "(a / b) / (c − 1)"},
      {R"(\sqrt{\frac{a}{b}} + \sqrt{D} + \sqrt{a + 1})", "√(a / b) + √D + √(a + 1)"},
      {R"(x \frac{f(a + b)}{g(c - d)})", "x f(a + b) / g(c − d)"},
  };
  for (const auto& [latex, text] : formulas) EXPECT_EQ(plain_formula(latex), std::string(text) + "\n") << latex;
}

TEST(PlainFormula, HasALineForEachRow) {
  EXPECT_EQ(plain_formula(R"(\begin{aligned}
P &= Q K^\top \\
\text{out} &= P V
\end{aligned})"),
            "  P = Q Kᵀ\n"
            "out = P V\n");
  EXPECT_EQ(
      plain_formula(R"(s_{ij} = \begin{cases} q_i k_j & \text{if } j \le i \\ -\infty & \text{else} \end{cases})"),
      "s_ij = { q_i k_j   if j ≤ i\n"
      "       { −∞        else\n");
}

TEST(PlainFormula, BreaksALongLineBetweenFormulas) {
  const std::string one = "a = b + c + d + e + f + g + h";
  EXPECT_EQ(plain_formula(one + R"( \qquad )" + one), one + "      " + one + "\n");
  EXPECT_EQ(plain_formula(one + R"( \qquad )" + one + R"( \qquad )" + one), one + "\n" + one + "\n" + one + "\n");
}

TEST(PlainFormula, RefusesWhatItDoesNotKnow) {
  for (const char* latex : {R"(\operatorname{softmax})", R"(\frac{a)", R"(a})", R"(a \\ b)", R"(a & b)",
                            R"(\begin{bmatrix} a \end{bmatrix})", R"(\begin{aligned} a \end{cases})", R"(x_)",
                            R"(\text{log\_sum})", R"(\mathrm{log_sum})"}) {
    EXPECT_THROW(plain_formula(latex), std::invalid_argument) << latex;
  }
}

TEST(WithPlainFormulas, ChangesNothingElse) {
  std::vector<std::string> problems;
  const std::string shown = with_plain_formulas(
      "Text\n```math\nK^\\top\n```\n\n```\nK^\\top\n```\n```math\n\\unheard{a}\n```\nand `K^\\top`.\n", &problems);
  EXPECT_EQ(shown, "Text\n```\nKᵀ\n```\n\n```\nK^\\top\n```\n```math\n\\unheard{a}\n```\nand `K^\\top`.\n");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("\\unheard is not known in the formula\n\\unheard{a}")));
}

}  // namespace
}  // namespace attn
