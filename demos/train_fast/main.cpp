// The program of ./learn train --fast: as ./learn train with the reference, but for the steps.
#include "fast_steps.hpp"
#include "train_program.hpp"

int main(int argc, char** argv) { return attn::training::train_program(argc, argv, true, attn::training::fast_steps); }
