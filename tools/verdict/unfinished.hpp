#pragma once

#include <string>
#include <vector>

namespace attn::judge {

/// A variable that is declared with `auto` and keeps an Armadillo expression in place of its result: the type of
/// `arma::exp(A) - B` is a plan of what to compute, which refers to its operands.
struct Unfinished {
  int line = 0;
  std::string name;
  std::string type;      ///< what to write: "arma::mat"; empty where a scan cannot tell
  bool dangles = false;  ///< an operand is a temporary, and gone by the next line
};

/// What a scan of C++ code finds. It knows the variables and functions that the code declares, and no others: it misses
/// some rather than to accuse a line that is right.
/// @param declarations code whose functions and variables are known, too: the headers
std::vector<Unfinished> unfinished_expressions(const std::string& code, const std::string& declarations = "");

/// What to say to a learner.
std::string advice(const Unfinished& found);

}  // namespace attn::judge
