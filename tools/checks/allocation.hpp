#pragma once

#include <cstddef>
#include <string>

#include "checks/function_view.hpp"

namespace attn::judge {

/// How many bytes a piece of code asked for: the sum over all its allocations, whether they were given back or not.
/// Armadillo's matrices, operator new and malloc are counted, in this program's own code (the linker puts the counting
/// in between: see CMakeLists.txt here). Not counted is operator new with std::nothrow: Armadillo's lists of slices.
std::size_t allocated_bytes(FunctionView<void()> code);

/// How many bytes the largest single one of those allocations asked for: whether a matrix of a certain size was made.
std::size_t largest_allocation(FunctionView<void()> code);

/// How many bytes were held at one time, at most, beyond what was held before: small pieces count together as long as
/// all of them are kept. What was allocated before and is given back by the code makes room. All of operator new
/// counts.
std::size_t peak_bytes(FunctionView<void()> code);

/// "12 KB" and the like, for diagnoses.
std::string bytes_text(std::size_t bytes);

}  // namespace attn::judge
