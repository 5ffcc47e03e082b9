#include "train/training.hpp"
#include "trainer.hpp"

namespace attn::training {

namespace {

class FastSteps : public Steps {
 public:
  explicit FastSteps(Training& training) : trainer_(training.model.config(), parameters_of(training.model)) {
    trainer_.restore(training.state);
  }

  StepReport make(Training&, const Batch& batch, const TrainingConfig& config) override {
    return trainer_.step({batch}, config);
  }

  void put_into(Training& training) override {
    trainer_.copy_to(parameters_of(training.model));
    training.state = trainer_.state();
    training.model.reset();
  }

 private:
  fast::Trainer trainer_;
};

}  // namespace

const bool has_fast_steps = true;

std::unique_ptr<Steps> make_steps(Training& training) { return std::make_unique<FastSteps>(training); }

}  // namespace attn::training
