// Writes the tests' artifact: zc-test-write-tiny FILE.
#include "test/unit/runtime/TinyArtifact.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  zc::test::writeArtifact(argv[1], zc::test::tinyManifest());
  return 0;
}
