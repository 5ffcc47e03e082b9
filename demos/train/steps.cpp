#include "steps.hpp"

namespace attn::training {

namespace {

class LessonSteps : public Steps {
 public:
  StepReport make(Training& training, const Batch& batch, const TrainingConfig& config) override {
    return train_step(training.model, training.state, {batch}, config);
  }
  void put_into(Training&) override {}  // it works on the training itself
};

}  // namespace

std::unique_ptr<Steps> steps_of_lessons(Training&) { return std::make_unique<LessonSteps>(); }

}  // namespace attn::training
