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
    Digest expected;
    std::map<std::string, Digest> got;  ///< by the mistake's id
  };

  /// Reads them; empty when there is no such file.
  /// @throws std::runtime_error naming the file when it is not such a file.
  static Recordings read(const std::filesystem::path& file);

  /// Adds what a mistake gave in a run. Of a comparison that another run of the same mistake contradicts, and of what fails
  /// without one, it is known only that the check fails.
  /// @param again the same with other random numbers
  void add(const std::string& mistake, const Report& run, const Report& again);

  /// Adds what an operation gave in a run (gate/operations.hpp): which checks fail, and what the two that tell most got, in
  /// numbers and in words, if it is the same in the second run.
  /// @return false, and nothing is added, when that tells nothing
  bool add_operation(const std::string& sentence, const Report& run, const Report& again);

  /// The sentences of two operations give the same at all places.
  bool same(const std::string& a, const std::string& b) const;

  /// Leaves out an operation.
  void remove(const std::string& sentence);

  /// Leaves out comparisons of a check that tell nothing new: of each mistake two remain in each check, where there are
  /// two. A comparison that remains keeps all its mistakes.
  void thin_out();

  /// JSON: the ids of all mistakes, each without the beginning that it shares with the one before, after two digits for the
  /// length of that; and for each check a line per comparison, [number, expected, results]. Results are
  /// separated by commas: a digest of what was got, and then the indices of the mistakes that gave it, two digits each.
  std::string text() const;

  /// Every place, by check and number of the comparison.
  const std::map<std::string, std::map<int, Place>>& checks() const { return checks_; }

  /// What it was made of: a digest. Empty when that is not asked.
  const std::string& stamp() const { return stamp_; }
  void stamp(const std::string& stamp) { stamp_ = stamp; }

  /// The ids of all mistakes that were added.
  const std::set<std::string>& mistakes() const { return mistakes_; }

  /// The comparison that a failure is about, if it had the same numbers to work with; nullptr when it is not recorded.
  const Place* find(const std::string& check, const Comparison& comparison) const;

 private:
  std::string stamp_;
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

/// Adds the sentence of the operation on the solution that explains what fails, where no catalogued mistake is named. It has to
/// explain it exactly: all checks that fail with it fail, with the same numbers and words. Of the tasks of these checks few others
/// may fail: a second mistake, such as a size that is not checked. The same numbers have to be more than a few; zeros count where
/// the operation explains all that fails. Nothing is added when several explain it equally well.
void name_operations(std::vector<CheckResult>& checks, const Recordings& operations);

}  // namespace attn::judge
