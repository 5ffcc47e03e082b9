#define ATTN_INSTANTIATE
#include "armadillo_templates.hpp"
