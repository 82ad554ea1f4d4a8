// The tiny artifact for two ranks.
#ifndef ZC_TEST_UNIT_RUNTIME_TINYRANKS_H
#define ZC_TEST_UNIT_RUNTIME_TINYRANKS_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc::test {

/// tinyManifest() with its four samples shared by two ranks along "dp": it
/// trains to the same weights. `sharded`: weight and momentum are ZeRO units of
/// which each rank has half, padded; else each has all.
plan::Manifest tinyManifestOfTwo(bool sharded);

/// Moves all collectives to the second stream: each waits for the instruction
/// before it, and that of the first stream behind it waits for it.
void moveCollectivesToSecondStream(plan::Manifest &manifest);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_TINYRANKS_H
