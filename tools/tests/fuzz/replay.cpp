// Gives the files of a folder to a target, as libFuzzer does.
//
//   fuzz_NAME FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "fuzz.hpp"

int main(int argc, char** argv) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argc == 2 ? argv[1] : "")) {
    std::cout << entry.path().filename().string() << std::endl;  // the last one, where it crashes
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    ++files;
  }
  return files == 0 ? 1 : 0;
}
