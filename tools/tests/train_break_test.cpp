// ./learn train --break: variants whose gradients fit their forward passes, the list of mistakes, and the curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "breaks.hpp"
#include "trainer.hpp"
#include "trainings.hpp"
#include "two_curves.hpp"
#include "variants.hpp"

namespace attn::training {
namespace {

using testing::HasSubstr;

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
    learn::TrainOptions options;
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

/// What a process reports of three steps.
std::vector<double> losses_of(const Break& broken, Variant variant, const std::string& mistake) {
  learn::TrainOptions options;
  options.steps = 4;
  TrainingProcess training(recipe_of(broken, options, false), variant, mistake);
  while (training.read()) {
  }
  EXPECT_TRUE(training.outcome()) << broken.name;
  return training.losses();
}

TEST(Trainings, EachMistakeIsMade) {
  const std::vector<double> right = losses_of(breaks().front(), Variant::right, "");
  ASSERT_EQ(right.size(), 4U);
  EXPECT_EQ(losses_of(breaks().front(), Variant::right, ""), right);
  for (const Break& broken : breaks()) {
    EXPECT_NE(losses_of(broken, broken.wrong, broken.id), losses_of(broken, broken.right, "")) << broken.name;
  }
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
  EXPECT_NO_THROW(curves_text({{2}, {1e300}, 2}, true));
}

}  // namespace
}  // namespace attn::training
