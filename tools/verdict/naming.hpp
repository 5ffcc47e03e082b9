#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "verdict/report.hpp"

/// Which catalogued mistake gives the values that a learner's code gives.
///
/// Every mistake was made once in the solution, and what each comparison of each check got was written down:
/// tests/NN_name/recorded.json. A failing comparison of the learner's is looked up there. The mistakes that gave the
/// same are likely.
namespace attn::judge {

/// What the mistakes of a lesson give.
class Recordings {
 public:
  /// One comparison: what was expected there, and which mistakes gave what.
  struct Place {
    Fingerprint expected;
    std::map<std::string, Fingerprint> got;  ///< by the mistake's id
  };

  /// Reads them; empty when there is no such file.
  /// @throws std::runtime_error naming the file when it is not such a file.
  static Recordings read(const std::filesystem::path& file);

  /// Adds what a mistake gave in a run. A comparison that another run of the same mistake contradicts is not added.
  /// @param again the same with other random numbers
  void add(const std::string& mistake, const Report& run, const Report& again);

  /// Leaves out comparisons of a check that tell nothing new: of each mistake two remain in each check, where there are
  /// two. A comparison that remains keeps all its mistakes.
  void thin_out();

  /// JSON: the ids of all mistakes, and for each check a line per comparison, [number, expected, results]. What was
  /// expected is "sizes:mean mean", such as "4x3x1:dux1 -4c0l", with means in units of 1e-9, in base 36. Results are
  /// "mean mean mistake...,mean mean mistake...", with the mistakes' places in the list of ids; sizes come first where
  /// they are not the expected ones.
  std::string text() const;

  /// Every place, by check and number of the comparison.
  const std::map<std::string, std::map<int, Place>>& checks() const { return checks_; }

  /// The ids of all mistakes that were added.
  const std::set<std::string>& mistakes() const { return mistakes_; }

  /// The comparison that a failure is about, if it had the same numbers to work with; nullptr when it is not recorded.
  const Place* find(const std::string& check, const Comparison& comparison) const;

 private:
  std::map<std::string, std::map<int, Place>> checks_;
  std::set<std::string> mistakes_;
};

/// Adds the likely mistakes to the failures.
///
/// Where several mistakes give the same values, those are named that explain the run best: most comparisons got what
/// the mistake gives, and fewest passed where it fails. A mistake is not named
/// - if more comparisons about the task pass where it fails than got what it gives;
/// - unless most comparisons about the task, of those where it fails, got what it gives. Not all: what a mistake makes of
///   NaN, or of numbers so large that only rounding is left, differs between versions of Armadillo and OpenBLAS;
/// - by results that may be the same by chance alone (few numbers, or NaN, or all 0), unless it explains
///   all that fails, or nearly all of many comparisons.
///
/// The first failing check, if it has no name for what it met, takes the one that another check about the same task
/// found by comparing: also if it met an exception, a wrong shape or a crash.
void name_mistakes(std::vector<CheckResult>& checks, const Recordings& recordings);

}  // namespace attn::judge
