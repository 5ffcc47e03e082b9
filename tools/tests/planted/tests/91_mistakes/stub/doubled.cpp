#include "doubled.hpp"

// The defect: lessons/91_mistakes/doubled.cpp was changed, and this copy was forgotten.
