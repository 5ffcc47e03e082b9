#include "train/training.hpp"

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

const bool has_fast_steps = false;

std::unique_ptr<Steps> make_steps(Training&) { return std::make_unique<LessonSteps>(); }

}  // namespace attn::training
