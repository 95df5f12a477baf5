// SPDX-License-Identifier: BSD-3-Clause
// replay CORPUS...: runs every input once. A corpus is a folder of files, or a text file of lines "NAME HEX" for binary
// inputs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

namespace {

int inputs = 0;

void replay(const std::string& name, const std::string& input) {
  printf("%s\n", name.c_str());  // the last line of output names the input that crashed
  fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  inputs++;
}

void replay_lines(const char* path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string name, hex, input;
    std::istringstream(line) >> name >> hex;
    for (size_t at = 0; at + 1 < hex.size(); at += 2) input += char(strtoul(hex.substr(at, 2).c_str(), nullptr, 16));
    replay(name, input);
  }
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; i++) {
    if (!std::filesystem::is_directory(words[i])) {
      replay_lines(words[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(words[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      replay(entry.path().filename(), {std::istreambuf_iterator<char>(file), {}});
    }
  }
  if (inputs == 0) fprintf(stderr, "replay: no input\n");
  return inputs == 0;
}
