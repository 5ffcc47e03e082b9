#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "armadillo_templates.hpp"
