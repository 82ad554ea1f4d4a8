#include "runtime/Plan/InstructionKind.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace zc {
namespace {

std::string readSchema() {
  std::ifstream file(ZC_SCHEMA);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(InstructionKind, IsCalledAsInTheSchema) {
  const std::string schema = readSchema();
  const size_t message = schema.find("message Instruction {");
  ASSERT_NE(message, std::string::npos);
  const size_t begin = schema.find("oneof kind {", message);
  const std::string kinds =
      schema.substr(begin, schema.find('}', begin) - begin);
  const std::regex field("(\\w+) = (\\d+);");
  int count = 0;
  for (std::sregex_iterator it(kinds.begin(), kinds.end(), field), end;
       it != end; ++it, ++count)
    EXPECT_EQ(nameOf(plan::Instruction::KindCase(std::stoi((*it)[2]))),
              (*it)[1].str());
  EXPECT_GE(count, 10);
}

TEST(InstructionKind, NoneHasNoName) {
  EXPECT_STREQ(kindOf(plan::Instruction()), "");
}

} // namespace
} // namespace zc
