#pragma once

#include <string>

#include "learn/coach/diagnostics.hpp"

namespace attn::learn {

/// What GCC and clang say in different words, in one form each; any other message as it is, without "did you mean":
///
///   no member T in const arma::mat
///   no name arma::softmax
///   no operator *: const arma::cube, const arma::mat     (? for a type that the compiler does not print)
///   no call softmax_rows(const double&)                  (clang: of the arguments, the one that does not fit)
///   no call on const arma::mat (int, int, int)
///   no conversion void -> arma::cube
///   const arma::mat is const
std::string meaning_of(const Diagnostic& diagnostic);

}  // namespace attn::learn
