// What ./learn train adds to the lessons: its tasks, whose answers are worked out by hand here, what it shows of them, its
// command line; and the mistakes of --break, with gradients that fit their forward passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "scratch.hpp"
#include "train/curves.hpp"
#include "train/options.hpp"
#include "train/screens.hpp"
#include "train_break/breaks.hpp"
#include "train_break/trainings.hpp"

namespace attn::training {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;

constexpr arma::uword none = ignored_target;

std::vector<arma::uword> column(const arma::umat& x, arma::uword b) { return {x.begin_col(b), x.end_col(b)}; }

// ------------------------------------------------------------------------------------------------- mistakes that are made
// First: what has run in this process without a mistake makes none in a process that it starts.

constexpr std::chrono::minutes patience{1};  // for a step, with sanitizers and beside other tests

/// What a process reports of its first steps.
std::vector<double> first_losses(const Break& broken, Variant variant, const std::string& mistake) {
  constexpr std::size_t count = 4;
  TrainingProcess training(recipe_of(broken, {}, false), variant, mistake);
  training.wait([&] { return training.report().losses.size() < count; }, patience);
  std::vector<double> losses = training.report().losses;
  EXPECT_GE(losses.size(), count) << broken.name;
  losses.resize(count);
  return losses;
}

TEST(Trainings, EachMistakeIsMade) {
  const std::vector<double> right = first_losses(breaks().front(), Variant::right, "");
  EXPECT_THAT(right, Each(Gt(0)));
  EXPECT_EQ(first_losses(breaks().front(), Variant::right, ""), right);
  std::map<std::tuple<std::string, arma::uword, Variant>, std::vector<double>> of_right_code;  // many share it
  for (const Break& broken : breaks()) {
    std::vector<double>& expected = of_right_code[{broken.task, broken.heads, broken.right}];
    if (expected.empty()) expected = first_losses(broken, broken.right, "");
    EXPECT_NE(first_losses(broken, broken.wrong, broken.id), expected) << broken.name;
  }
}

/// Whether a mistake changes what is drawn: it makes a step, and its losses are not those of right code but for rounding.
bool shows(const Recipe& recipe, const std::string& mistake, std::size_t steps) {
  const auto first = [&](const std::string& id) {
    TrainingProcess training(recipe, Variant::right, id);
    training.wait([&] { return training.report().losses.size() < steps; }, patience);
    return training.report().losses;
  };
  static std::map<std::size_t, std::vector<double>> of_right_code;  // of so many steps, each with its recipe
  std::vector<double>& right = of_right_code[steps];
  if (right.empty()) right = first("");
  if (right.size() < steps) throw std::runtime_error("right code makes too few steps");
  const std::vector<double> losses = first(mistake);
  if (losses.empty()) return false;
  if (losses.size() < steps) return true;
  const auto is_same = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
  return !std::equal(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(steps), right.begin(), is_same);
}

TEST(Trainings, ThoseThatShowNothingAreListed) {
  Recipe small = recipe_of(breaks().front(), {}, false);
  small.width = 4;  // most show in it, and it takes little time
  small.heads = small.kv_heads = 2;
  TrainOptions options;
  options.task = "reverse";  // its warm-up is short: in the last third of these steps schedules differ
  options.steps = 30;
  const Recipe whole = recipe_of(breaks().front(), options, true);
  constexpr std::size_t every = 8;  // a sample: all take 40 s
  for (const std::string number : {"24", "25", "26", "27"}) {
    const lesson::Lesson lesson = lesson::find_lesson(ATTN_ROOT, number);
    const std::vector<lesson::Mistake> mistakes = lesson.mistakes();
    for (std::size_t i = 0; i < mistakes.size(); i += every) {
      if (mistakes[i].file == "fused_qkv_backward.cpp") continue;  // not in this model
      const bool listed = lesson.break_name(mistakes[i]).empty();
      const bool seen = shows(small, mistakes[i].id, 4) || (!listed && shows(whole, mistakes[i].id, 30));
      EXPECT_EQ(seen, !listed) << number << "." << mistakes[i].id << ": see programs/train_break/no_effect.txt";
    }
  }
}

TEST(Trainings, TheListOfThoseThatShowNothingNamesMistakes) {
  const std::filesystem::path file = std::filesystem::path(ATTN_ROOT) / "programs/train_break/no_effect.txt";
  for (const std::string& name : lines_of(lesson::read_file(file)))
    EXPECT_NO_THROW(break_named(name, ATTN_ROOT)) << name;
}

TEST(Trainings, AreStoppedWhenTheyMakeNoStep) {
  const Scratch folder(std::filesystem::temp_directory_path());
  const std::filesystem::path endless = folder.path() / "endless";
  put(endless, "#!/bin/sh\nprintf 12345678 >&\"${4#--losses=}\"\nwhile :; do sleep 0.01; done\n");
  std::filesystem::permissions(endless, std::filesystem::perms::owner_all);
  TrainingProcess training(recipe_of(breaks().front(), {}, false), endless.string());
  training.wait([] { return true; }, std::chrono::seconds(1));
  EXPECT_EQ(training.report().losses.size(), 1U);
  EXPECT_EQ(training.failure(), "was stopped: its next step took more than 1 s: a loop that never ends?");
}

TEST(Trainings, HaveAnOutcomeAtTheirEnd) {
  TrainOptions options;
  options.steps = 2;
  TrainingProcess training(recipe_of(breaks().front(), options, false), Variant::right, "");
  training.wait([] { return true; }, patience);
  const TrainingReport report = training.report();
  EXPECT_EQ(report.losses.size(), 2U);
  ASSERT_TRUE(report.outcome);
  EXPECT_GT(report.outcome->held_out_loss, 0);
  EXPECT_GT(report.outcome->accuracy, 0);
}

// ------------------------------------------------------------------------------------------------- tasks

/// Sequence, separator, answer: what the answer is, from the sequence that was drawn.
TEST(CopyAndSortBatch, HaveTheAnswerAfterTheSeparator) {
  std::mt19937_64 generator(1);
  const Batch copies = copy_batch(4, 3, generator), sorts = sort_batch(4, 3, generator);
  for (const Batch* batch : {&copies, &sorts}) {
    for (arma::uword b = 0; b < 3; ++b) {
      const auto x = column(batch->ids, b);
      ASSERT_EQ(x.size(), 8u);
      std::vector<arma::uword> answer(x.begin(), x.begin() + 4);
      if (batch == &sorts) std::sort(answer.begin(), answer.end());
      EXPECT_THAT(x, ElementsAre(x[0], x[1], x[2], x[3], symbols, answer[0], answer[1], answer[2]));
      EXPECT_THAT(column(batch->targets, b),
                  ElementsAre(none, none, none, none, answer[0], answer[1], answer[2], answer[3]));
    }
  }
}

TEST(InductionBatch, CountsWhereTheTokenOccurredBefore) {
  std::mt19937_64 generator(1);
  const Batch batch = induction_batch(6, 40, generator);
  std::set<arma::uword> periods;
  std::set<arma::uword> firsts;
  for (arma::uword b = 0; b < 40; ++b) {
    const auto x = column(batch.ids, b);
    const auto targets = column(batch.targets, b);
    std::set<arma::uword> seen;
    for (arma::uword i = 0; i < x.size(); ++i) {
      const bool again = seen.count(x[i]) > 0;
      EXPECT_EQ(targets[i] != none, again) << "row " << i << " of " << text_of(x);
      seen.insert(x[i]);
      if (!again) continue;
      arma::uword before = i - 1;
      while (x[before] != x[i]) --before;
      EXPECT_EQ(targets[i], x[before + 1]);
      EXPECT_EQ(targets[i], i + 1 < x.size() ? x[i + 1] : targets[i]);
    }
    periods.insert(seen.size());
    firsts.insert(x[0]);
  }
  EXPECT_THAT(periods, ElementsAre(3, 4, 5, 6)) << "its positions alone should not give the answer";
  EXPECT_EQ(firsts.size(), symbols);
  EXPECT_THROW(induction_batch(symbols + 1, 1, generator), std::invalid_argument);
}

TEST(Task, DrawsTheSameForTheSameSeed) {
  for (const Task& task : tasks()) {
    std::mt19937_64 one(7);
    std::mt19937_64 same(7);
    const Batch batch = task.draw(3, one);
    EXPECT_TRUE(arma::all(arma::vectorise(batch.ids == task.draw(3, same).ids))) << task.name;
    EXPECT_EQ(batch.ids.n_rows, 2 * length) << task.name;
  }
}

TEST(Task, IsKnownToTheToolByItsName) {
  for (const Task& task : tasks()) {
    EXPECT_EQ(task_named(task.name).what, task.what);
    TrainOptions options;
    CLI::App app;
    add_train_options(app, options);
    EXPECT_NO_THROW(app.parse("--task " + task.name)) << task.name;
    EXPECT_THAT(app.get_option("--task")->get_description(), HasSubstr(task.name));
  }
  EXPECT_THROW(task_named("add"), std::invalid_argument);
}

TEST(SourcesOf, AreWhereTheAnswerIs) {
  const arma::uvec ids = {3, 1, 3, symbols, 0, 0};
  const auto columns = [](const arma::mat& sources) {
    std::string text;
    for (arma::uword i = 0; i < sources.n_rows; ++i) {
      const arma::uvec found = arma::find(sources.row(i));
      text += (i == 0 ? "" : "; ") + text_of({found.begin(), found.end()});
    }
    return text;
  };
  EXPECT_EQ(columns(sources_of(task_named("copy"), ids, {none, none, none, 3, 1, 3})), "; ; ; 0; 1; 2");
  EXPECT_EQ(columns(sources_of(task_named("reverse"), ids, {none, none, none, 3, 1, 3})), "; ; ; 2; 1; 0");
  EXPECT_EQ(columns(sources_of(task_named("sort"), ids, {none, none, none, 1, 3, 3})), "; ; ; 1; 0 2; 0 2");
  EXPECT_EQ(columns(sources_of(task_named("induction"), {5, 7, 5, 7, 5, 7}, {none, none, 7, 5, 7, 5})),
            "; ; 1; 2; 1 3; 2 4");
}

// ------------------------------------------------------------------------------------------------- what is shown

TEST(ExampleText, MarksWrongTokens) {
  EXPECT_EQ(example_text({3, 1, 4, symbols}, {4, 7, 3}, {4, 1, 3}), "3 1 4 | 4 [7] 3");
  EXPECT_EQ(example_text({3, 1, 3}, {1, 3}, {1, 3}), "3 1 3 > 1 3");
}

TEST(WholeSequence, HasTheLastTargetToo) {
  const Batch batch{arma::uvec{1, symbols}, arma::uvec{none, 1}};
  EXPECT_THAT(whole_sequence(batch, 0), ElementsAre(1, symbols, 1));
  EXPECT_EQ(first_counted(batch.targets.col(0)), 1u);
}

TEST(LossCurve, FallsFromTheHighestMeanToZero) {
  const std::string curve = loss_curve({2, 1, 0}, true);
  const auto lines = lines_of(curve);
  ASSERT_EQ(lines.size(), 9u) << curve;
  EXPECT_EQ(lines[0], "  2.00 |-.");
  EXPECT_EQ(lines[2], "       | |");
  EXPECT_EQ(lines[3], "       | '.");
  EXPECT_EQ(lines[5], "       |  |");
  EXPECT_EQ(lines[7], "  0.00 |  '");
  EXPECT_THAT(lines[8], HasSubstr("step 3"));
  EXPECT_EQ(lines_of(loss_curve(std::vector<double>(1000, 1.0), true))[0].size(), 8u + 60u);
  for (const char c : curve) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(Curves, MarksOfEachAndBoth) {
  EXPECT_EQ(
      curves_text({{2, 1}, {2, 2}, 2}, true),
      "  2.00 |#x\n       |\n       |\n       |\n       |\n       | o\n       |\n       |\n       |\n       |\n       "
      "|\n  0.00 |\n        1 step 2\n        o right   x with the mistake   # both\n");
}

TEST(Curves, WhatIsNoNumberIsLeftOut) {
  const double nan = std::nan("");
  const std::string text = curves_text({{2, 1, 1}, {2, nan}, 2}, true);
  EXPECT_EQ(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("right")), 'x'), 0);
  EXPECT_THAT(curves_svg({{2, 1, 1}, {nan}, 2}, "copy", "scale"), Not(HasSubstr("nan")));
  EXPECT_THAT(curves_text({{2}, {1e300}, 2}, true), HasSubstr("(highest row: 4.00 and above)"));
  EXPECT_THAT(curves_text({{2}, {3}, 2}, true), Not(HasSubstr("highest row")));
}

/// The model of the first task, before the first step.
LanguageModel new_model(std::uint64_t seed) {
  TrainOptions options;
  options.seed = seed;
  return new_run(recipe_of(options)).model;
}

TEST(HeadFor, FindsTheHeadThatLooksMostAtTheAnswer) {
  LanguageModel model = new_model(1);
  const arma::uvec ids = {3, 1, symbols, 3};
  const arma::uvec targets = {none, none, 3, 1};
  const HeadOfLayer shown = head_for(model, task_named("copy"), ids, targets);
  visit_attention(model, {3, 1, symbols, 3}, [&](arma::uword layer, const arma::cube& weights) {
    for (arma::uword head = 0; head < weights.n_slices; ++head) {
      const double share = (weights(2, 0, head) + weights(3, 1, head)) / 2;
      if (layer == shown.layer && head == shown.head) {
        EXPECT_NEAR(share, shown.score, 1e-12);
      } else {
        EXPECT_LT(share, shown.score);
      }
    }
    return true;
  });
}

// ------------------------------------------------------------------------------------------------- training

TEST(NewModel, IsTheSameForTheSameSeed) {
  LanguageModel one = new_model(3);
  LanguageModel same = new_model(3);
  LanguageModel other = new_model(4);
  std::mt19937_64 generator(1);
  const Batch batch = tasks().front().draw(4, generator);
  EXPECT_EQ(loss_of(one, batch), loss_of(same, batch));
  EXPECT_NE(loss_of(one, batch), loss_of(other, batch));
  EXPECT_NEAR(loss_of(one, batch), std::log(symbols + 1.0), 1.0);
}

TEST(AccuracyOf, CountsTheTargetsThatCount) {
  LanguageModel model = new_model(1);
  for (const ParameterView& parameter : parameters_of(model)) {
    if (parameter.name == "token_embedding") parameter.vector().zeros();  // all logits alike: the first token wins
  }
  EXPECT_EQ(accuracy_of(model, {{{1, 2}, {3, 4}}, {{none, 0}, {1, 0}}}), 2.0 / 3);
  EXPECT_EQ(accuracy_of(model, {{{1, 2}}, {{none, none}}}), 0);
}

// ------------------------------------------------------------------------------------------------- mistakes

/// A tiny model, and what the variant's loss is with all parameters moved along the gradient.
class Variants : public testing::TestWithParam<Variant> {
 protected:
  Variants() {
    for (const ParameterView& parameter : parameters_of(training_.model)) parameter.vector() *= 4;  // no small scores
    batch_ = task_named("copy").draw(2, training_.examples);
  }
  ~Variants() override {
    choose_variant(Variant::right, 1);
    set_training(true);
  }

  static Recipe recipe() {
    TrainOptions options;
    options.task = "copy";
    options.steps = 1;
    return recipe_of(options);
  }

  /// With the same masks of dropout each time.
  LossAndGradients at(LanguageModel& model) {
    choose_variant(GetParam(), 7);
    return variant_loss_and_gradients(model, batch_.ids, batch_.targets);
  }

  Training training_ = new_run(recipe());
  Batch batch_;
};

TEST_P(Variants, TheGradientIsTheSlopeOfTheLoss) {
  LossAndGradients here = at(training_.model);
  const std::vector<ParameterView> gradients = parameters_of(here.gradients);
  double slope = 0;
  for (const ParameterView& gradient : gradients) slope += arma::dot(gradient.vector(), gradient.vector());
  const auto moved = [&](double h) {
    LanguageModel model = training_.model;
    const std::vector<ParameterView> parameters = parameters_of(model);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].vector() += h * gradients[i].vector();
    return at(model).loss;
  };
  const auto difference = [&](double h) { return (moved(h) - moved(-h)) / (2 * h); };
  const double h = 1e-6 / std::sqrt(slope);
  const double bound = std::abs(difference(2 * h) - difference(h)) + 1e-8 * slope;  // as in checks/differences.hpp
  EXPECT_LT(bound, 1e-4 * slope);
  EXPECT_NEAR(difference(h), slope, bound);
}

TEST_P(Variants, OnlyTheRightOneIsRight) {
  choose_variant(Variant::right, 7);
  const double right = variant_loss_and_gradients(training_.model, batch_.ids, batch_.targets).loss;
  const double loss = at(training_.model).loss;
  if (GetParam() == Variant::right) {
    EXPECT_EQ(loss, right);
  } else {
    EXPECT_GT(std::abs(loss - right), 1e-3);
  }
}

TEST_P(Variants, RightCodeComputesTheSameWithTheModelOfTheVariant) {
  choose_variant(GetParam(), 7);
  set_training(false);
  const double loss = variant_loss_and_gradients(training_.model, batch_.ids, batch_.targets).loss;
  LanguageModel model = as_computed(training_.model);
  EXPECT_NEAR(loss_of(model, batch_), loss, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, Variants,
                         testing::Values(Variant::right, Variant::unscaled, Variant::shared_projection,
                                         Variant::dropout, Variant::unscaled_dropout));

TEST(Breaks, EachIsThereWithItsMistake) {
  for (const Break& listed : breaks()) {
    const Break broken = break_named(listed.name, ATTN_ROOT);
    EXPECT_NE(broken.what, "") << listed.name;
    EXPECT_NE(broken.look_for, "") << listed.name;
    EXPECT_EQ(broken.id.empty(), edit_text(broken, ATTN_ROOT).empty()) << listed.name;
    EXPECT_NE(broken.id.empty(), broken.right == broken.wrong) << listed.name;
  }
}

TEST(Breaks, AnyMistakeOfTheFourLessons) {
  const Break ascent = break_named("27.ascent", ATTN_ROOT);
  EXPECT_EQ(ascent.id, "ascent");
  EXPECT_EQ(ascent.what, "the step goes up the gradient: it is subtracted");
  EXPECT_THAT(edit_text(ascent, ATTN_ROOT), HasSubstr("solutions/27_training/adamw.cpp:\n  - "));
}

TEST(Breaks, WhatIsNotThereIsRefused) {
  for (const std::string name :
       {"no-such", "", ".", "27.", "27", "27.no_such", "19.unscaled", "x.y", "25.fused_K_first"}) {
    try {
      break_named(name, ATTN_ROOT);
      ADD_FAILURE() << name << " was found";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("--break is " + name + ",")) << name;
    }
  }
}

// ------------------------------------------------------------------------------------------------- the command line

std::string refusal(const std::string& words) {
  const Scratch folder;
  put(folder.path() / "text", "a text");
  TrainOptions options;
  CLI::App app;
  add_train_options(app, options);
  std::string line = words;
  const auto at = line.find("TEXT");
  if (at != std::string::npos) line.replace(at, 4, (folder.path() / "text").string());
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(TrainOptions, GoTogether) {
  EXPECT_EQ(refusal("--text TEXT --width 24 --heads 4 --kv-heads 2"), "");
  EXPECT_EQ(refusal("--text TEXT --architecture gpt2 --width 12 --heads 4 --tokens bpe --vocab 300"), "");
  EXPECT_EQ(refusal("--resume --svg map.svg --reference"), "");
  EXPECT_EQ(refusal("--resume models/trained/copy"), "");
  EXPECT_THAT(refusal("--text TEXT --heads 5"), AllOf(HasSubstr("--heads"), HasSubstr("divisor of --width")));
  EXPECT_THAT(refusal("--text TEXT --width 12 --heads 4"), AllOf(HasSubstr("3 wide"), HasSubstr("even")));
  EXPECT_THAT(refusal("--text TEXT --kv-heads 3"), HasSubstr("divisor of --heads"));
  EXPECT_THAT(refusal("--text TEXT --architecture gpt2 --kv-heads 2"), HasSubstr("gpt2 has no groups"));
  EXPECT_THAT(refusal("--text TEXT --vocab 300"), HasSubstr("--tokens bpe"));
  EXPECT_THAT(refusal("--text TEXT --tokens bpe --vocab 256"), HasSubstr("--vocab"));
  EXPECT_THAT(refusal("--text TEXT --task copy"), HasSubstr("leave out --task"));
  EXPECT_THAT(refusal("--text TEXT --svg map.svg"), HasSubstr("--svg"));
  EXPECT_THAT(refusal("--width 32"), HasSubstr("--text FILE"));
  EXPECT_EQ(refusal("--resume --steps 5"), "");
  EXPECT_THAT(refusal("--resume --seed 5"), AllOf(HasSubstr("--seed"), HasSubstr("keeps its own")));
  EXPECT_THAT(refusal("--resume --text TEXT"), HasSubstr("keeps its own"));
  EXPECT_THAT(refusal("--text /"), HasSubstr("is a folder"));
  EXPECT_THAT(refusal("--text /dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("--text /no/such"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal("--save a\x1b[31m"), AllOf(HasSubstr("--save"), HasSubstr("without control characters")));
  EXPECT_THAT(refusal("--svg a\x1b[31m.svg"), HasSubstr("without control characters"));
  EXPECT_THAT(refusal("--text TEXT --rate 0"), HasSubstr("--rate"));
  EXPECT_THAT(refusal("--text TEXT --rate nan"), HasSubstr("--rate"));
}

}  // namespace
}  // namespace attn::training
