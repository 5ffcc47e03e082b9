// The fast decoder as one of the peers that bench/run decode compares: commands on standard input, one line each.
//
//   version                                       of what it measures       -> a few words
//   make FILE SHAPE NUMBER                        writes random weights as a safetensors file   -> bytes
//   load FILE SHAPE NUMBER CAPACITY THREADS       maps the file             -> "ready"
//   fill L                                        takes L tokens from the start   -> seconds
//   write FILE                                    the logits of one more token    -> "written"
//   time N                                        N times one more token    -> seconds
//   read L                                        a plain read of what a token after L others needs   -> seconds
//   sgemm THREADS                                 -> FLOP/s
//   cache                                         -> bytes of the cache that were used
//   macs                                          multiplications and additions for one token in the blocks   -> number
//   kernels                                       -> their name
//
// SHAPE is gpt2 or llama (GPT-2 small, Llama 3.2 1B), NUMBER, of weights and cache, is F32 or BF16. Token i is
// (7 i + 1) modulo V.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "decode_shapes.hpp"
#include "decoder.hpp"
#include "measuring.hpp"

extern "C" char* openblas_get_config();

namespace attn::bench {
namespace {

using std::size_t;

/// A file in memory, as it is on the disk.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0) throw std::runtime_error("cannot read " + path);
    size = static_cast<size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    data = static_cast<const char*>(memory);
  }
  ~MappedFile() { munmap(const_cast<char*>(data), size); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const char* data;
  size_t size;
};

typedef float Line __attribute__((vector_size(64)));  // of the cache

/// Adds up all floats, in four streams that lie far apart: the fastest of the plain reads that were tried.
float sum_of(const char* first, size_t bytes) {
  const size_t apart = bytes / sizeof(Line) / 4;
  const auto* lines = reinterpret_cast<const Line*>(first);
  Line sums[4] = {};
  for (size_t i = 0; i < apart; ++i) {
    for (size_t j = 0; j < 4; ++j) sums[j] += lines[j * apart + i];
  }
  float sum = 0;
  for (const Line& part : sums) {
    for (int i = 0; i < 16; ++i) sum += part[i];
  }
  return sum;
}

class Peer {
 public:
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, path, shape, number;
    size_t count = 0, threads = 0;
    words >> command;
    if (command == "version") return version();
    if (command == "kernels") return fast::usable_kernels().front()->name;
    if (command == "make" && words >> path >> shape >> number) return std::to_string(make(path, Shape(shape, number)));
    if (command == "load" && words >> path >> shape >> number >> count >> threads) {
      return load(path, Shape(shape, number), count, threads), "ready";
    }
    if (command == "fill" && words >> count) return std::to_string(fill(count));
    if (command == "write" && words >> path) return write(path), "written";
    if (command == "time" && words >> count) return std::to_string(time(count));
    if (command == "read" && words >> count) return std::to_string(read(count));
    if (command == "sgemm" && words >> threads) return std::to_string(sgemm_rate(static_cast<int>(threads)));
    if (command == "cache") return std::to_string(shape_->bytes_of_cache(longest_));
    if (command == "macs") return std::to_string(shape_->macs());
    throw std::invalid_argument("cannot do: " + line);
  }

 private:
  static std::string version() {
#ifdef __clang__
    const std::string compiler = "Clang " __clang_version__;
#else
    const std::string compiler = "GCC " __VERSION__;
#endif
    std::istringstream blas(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
    std::string name, number;
    blas >> name >> number;
    return compiler + ", " + name + " " + number;
  }

  static size_t make(const std::string& path, const Shape& shape) {
    std::ofstream file(path, std::ios::binary);
    shape.write(file);
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
    return shape.bytes();
  }

  void load(const std::string& path, const Shape& shape, size_t capacity, size_t threads) {
    decoder_.reset();
    shape_ = std::make_unique<Shape>(shape);
    file_ = std::make_unique<MappedFile>(path);
    team_ = std::make_unique<fast::Team>(threads);
    decoder_ = std::make_unique<fast::Decoder>(shape.config(), shape.tensors(file_->data), capacity, threads,
                                               *fast::usable_kernels().front(), shape.number());
  }

  double fill(size_t L) {
    arma::uvec ids(L);
    for (size_t i = 0; i < L; ++i) ids(i) = (7 * i + 1) % shape_->config().vocab_size;
    decoder_->reset();
    L_ = L;
    longest_ = std::max(longest_, L + 1);
    return seconds([&] { decoder_->extend(ids); });
  }

  void one_more() {
    decoder_->reset(L_);
    logits_ = &decoder_->extend({(7 * L_ + 1) % shape_->config().vocab_size});
  }

  void write(const std::string& path) {
    one_more();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(logits_->memptr()), static_cast<std::streamsize>(logits_->n_elem * 4));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }

  double time(size_t times) {
    return seconds([&] {
      for (size_t t = 0; t < times; ++t) one_more();
    });
  }

  /// The weights, and instead of the cache as many bytes of the weights again.
  double read(size_t L) {
    std::vector<float> sums(team_->size());
    const auto read_bytes = [&](const char* first, size_t bytes) {
      team_->run([&](size_t t) {
        const size_t begin = bytes / 64 * t / team_->size() * 64, end = bytes / 64 * (t + 1) / team_->size() * 64;
        sums[t] += sum_of(first + begin, end - begin);
      });
    };
    const char* weights = file_->data + shape_->header_bytes();
    const double taken = seconds([&] {
      read_bytes(weights, shape_->bytes_of_a_token());
      read_bytes(weights, shape_->bytes_of_cache(L));
    });
    volatile float sink = sums[0];  // so that the sums are computed
    static_cast<void>(sink);
    return taken;
  }

  std::unique_ptr<Shape> shape_;
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<fast::Team> team_;  // of the plain read
  std::unique_ptr<fast::Decoder> decoder_;
  const arma::fmat* logits_ = nullptr;
  size_t L_ = 0, longest_ = 0;
};

}  // namespace
}  // namespace attn::bench

int main() {
  attn::bench::Peer peer;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << peer.answer(line) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what() << std::endl;
    }
  }
}
