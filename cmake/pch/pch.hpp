#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#ifdef ATTN_PLAIN_ARMADILLO
#include <armadillo>
#else
#include "armadillo_templates.hpp"
#endif
