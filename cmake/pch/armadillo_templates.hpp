// The parts of Armadillo that every lesson uses, instantiated once in armadillo_templates.cpp and not again in every
// file: that saves a quarter of a second in each compilation of the learner's file. The code stays Armadillo's.
#pragma once

#include <armadillo>

#ifndef ATTN_INSTANTIATE
#define ATTN_INSTANTIATE extern
#endif

ATTN_INSTANTIATE template class arma::Mat<double>;
ATTN_INSTANTIATE template class arma::Row<double>;
ATTN_INSTANTIATE template class arma::Col<double>;
ATTN_INSTANTIATE template class arma::Cube<double>;
ATTN_INSTANTIATE template class arma::Mat<arma::uword>;
ATTN_INSTANTIATE template class arma::Row<arma::uword>;
ATTN_INSTANTIATE template class arma::Col<arma::uword>;
ATTN_INSTANTIATE template class arma::Cube<arma::uword>;

namespace arma {

// A * B, A * B^T, A^T * B and A^T
using Transposed = Op<mat, op_htrans>;
using Product = glue_times_redirect2_helper<true>;
ATTN_INSTANTIATE template void Product::apply<mat, mat>(mat&, const Glue<mat, mat, glue_times>&);
ATTN_INSTANTIATE template void Product::apply<mat, Transposed>(mat&, const Glue<mat, Transposed, glue_times>&);
ATTN_INSTANTIATE template void Product::apply<Transposed, mat>(mat&, const Glue<Transposed, mat, glue_times>&);
ATTN_INSTANTIATE template void Product::apply<rowvec, mat>(mat&, const Glue<rowvec, mat, glue_times>&);
ATTN_INSTANTIATE template void glue_times::apply_inplace_plus<rowvec, mat>(mat&, const Glue<rowvec, mat, glue_times>&,
                                                                           sword);
ATTN_INSTANTIATE template void op_strans::apply_direct<mat>(mat&, const mat&);

}  // namespace arma
