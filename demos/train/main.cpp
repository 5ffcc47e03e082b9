// The program of ./learn train: a small transformer learns a task or a text, with the gradients and the optimizer
// that the learner wrote. The tool says which parts those are.
#include "train_program.hpp"

int main(int argc, char** argv) {
  return attn::training::train_program(argc, argv, false, attn::training::steps_of_lessons);
}
