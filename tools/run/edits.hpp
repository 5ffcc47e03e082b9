#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "run/supervisor.hpp"

/// Runs the checks on a solution with many edits in it (gate/mutants.hpp), once for each edit.
namespace attn::judge {

/// A solution has fewer regions than this.
inline constexpr int most_regions = 4096;

/// The regions that ran since the current check began.
std::set<int> reached_regions();

/// Runs the checks without an edit, and then with each, and writes a report of every run.
///
/// With an edit only those checks are run that reach a region which it changes. This is exact: a check begins with the
/// same random numbers each time, so until it reaches such a region it does what it does without the edit, and if it
/// never does, it ends as it does then. Which regions it reaches is found in a process of its own: in one with other checks,
/// a table that is made once would be made by the first of them.
///
/// @param edits   a file with a JSON array of {"id": ..., "regions": [...]}
/// @param reports a file for lines of JSON, {"id": ..., "report": ...}; the id of the run without an edit is ""
/// @return false in a child, which has to run its checks (see supervise())
bool run_edits(const std::filesystem::path& edits, const std::filesystem::path& reports);

}  // namespace attn::judge

/// Set by the mutated solution.
extern bool mistake_region_reached[attn::judge::most_regions];
