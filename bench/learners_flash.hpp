#pragma once

#include <armadillo>

/// The learner's flash_attention. Its files, and learners_flash.cpp, are compiled with the namespace
/// `attn_learner` instead of `attn`, so that one program can hold them and the reference.
namespace learners {

/// @throws what the learner's code throws: std::exception for a task that is not written yet.
arma::fcube flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, bool causal);

}  // namespace learners
