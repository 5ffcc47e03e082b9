#pragma once

/// For a class from a blank page, as a real interviewer asks for it: include this instead of attn/masking.hpp, and the
/// compiler refuses the functions that mask and normalise for you.
#pragma GCC poison masked_fill safe_softmax_rows softmax_rows scaled_dot_product_attention
