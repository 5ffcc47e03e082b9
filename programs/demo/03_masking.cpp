// ./learn demo 03: what becomes of a query that may attend to no key, with the functions that you wrote.

#include <armadillo>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "attn/masking.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"
#include "shared/program_end.hpp"

namespace {

std::string number(double value) {
  if (std::isnan(value)) return "   NaN";
  char text[32];
  std::snprintf(text, sizeof text, "%6.4f", value);
  return text;
}

/// Two numbers of a row, side by side.
std::string pair(const arma::mat& x, arma::uword row) { return number(x(row, 0)) + " " + number(x(row, 1)); }

void show(const std::string& what, const arma::cube& weights, const arma::mat& V) {
  const arma::mat output = weights.slice(0) * V;  // (2 x 2)
  std::printf("%-22s  %s   %s   %s\n", what.c_str(), pair(weights.slice(0), 0).c_str(),
              pair(weights.slice(0), 1).c_str(), pair(output, 1).c_str());
}

void show_next_layer(const std::string& what, const arma::cube& weights, const arma::mat& V) {
  arma::cube context(2, 2, 1);
  context.slice(0) = weights.slice(0) * V;
  const arma::cube next = attn::scaled_dot_product_attention(context, context, context);
  int count = 0;
  for (const double value : next) count += std::isnan(value) ? 1 : 0;
  std::printf("%-22s  %d of %d numbers are NaN\n", what.c_str(), count, static_cast<int>(next.n_elem));
}

void run() {
  arma::cube scores(2, 2, 1);
  scores.slice(0) = {{2, 1}, {0, 5}};
  attn::Mask mask(2, 2, 1);
  mask.slice(0) = {{1, 0}, {0, 0}};
  const arma::mat V = {{1, 0}, {4, 4}};

  const arma::cube minus_1e20 = attn::softmax_rows(attn::masked_fill(scores, mask, -1e20));
  const arma::cube minus_1e9 = attn::softmax_rows(attn::masked_fill(scores, mask, -1e9));
  arma::cube lowered = scores;  // what some code does: add -1e9 where the mask is 0
  for (arma::uword i = 0; i < scores.n_elem; ++i) lowered(i) += mask(i) == 0 ? -1e9 : 0.0;
  const arma::cube added = attn::softmax_rows(lowered);
  const arma::cube with_infinity = attn::masked_fill(scores, mask, -arma::datum::inf);
  const arma::cube minus_inf = attn::softmax_rows(with_infinity);
  const arma::cube safe = attn::safe_softmax_rows(with_infinity);

  std::puts("Two queries (rows), two keys (columns). Key 1 is padding. Query 0 may");
  std::puts("attend to key 0 alone. Query 1 may attend to no key.\n");
  std::puts("  scores       mask (1 may attend)   values V");
  std::puts("  [ 2  1 ]     [ 1  0 ]              [ 1  0 ]");
  std::puts("  [ 0  5 ]     [ 0  0 ]              [ 4  4 ]   <- padding\n");
  std::puts("                        weights of      weights of      output of");
  std::puts("blocked scores          query 0         query 1         query 1");
  std::puts("----------------------  -------------   -------------   -------------");
  show("filled with -1e20", minus_1e20, V);
  show("filled with -1e9", minus_1e9, V);
  show("-1e9 added to them", added, V);
  show("filled with -inf", minus_inf, V);
  show("-inf, safe softmax", safe, V);
  std::puts("\nQuery 0 is the same everywhere. Query 1 is not:");
  std::puts("  -1e20, -1e9   all scores equal: the mean of all values, padding too");
  std::puts("  -1e9 added    the unmasked softmax: the mask has no effect at all");
  std::puts("  -inf          -inf minus -inf is NaN, and NaN times anything is NaN");
  std::puts("  safe softmax  no key, no weight, zeros: the answer of this course\n");
  std::puts("One more attention over those outputs, without a mask:");
  show_next_layer("filled with -inf", minus_inf, V);
  show_next_layer("-inf, safe softmax", safe, V);
  std::puts("Query 1 is a key of the next layer, so its NaN reaches every query.");
}

}  // namespace

int main() {
  attn::let_large_writes_fail();
  try {
    run();
    return attn::exit_code_when_printed(0);
  } catch (const attn::NotWritten& error) {
    return attn::report_not_written(error);
  } catch (const std::exception& error) {
    std::printf("What you wrote threw an error: %s\nRun ./learn check 03 to see what is wrong.\n", error.what());
    return 1;
  }
}
