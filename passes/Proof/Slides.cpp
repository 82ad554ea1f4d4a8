//===- Slides.cpp - windows that slide over images ------------------------===//
#include "passes/Proof/Slides.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace zc {

/// Elements of an image along a dim.
static constexpr int64_t kLargestTried = 4096;

/// Sizes of leaves.
using Sizes = std::map<int, int64_t>;

int64_t Slide::countPlaces(int64_t size) const {
  return size + padding < extent ? 0 : (size + padding - extent) / stride + 1;
}

namespace {
/// A slide whose dims are no products.
struct LeafSlide {
  int image, places; // -1: it has one place
  const Slide *slide;
};
} // namespace

static std::optional<std::vector<LeafSlide>>
findLeaves(DimAtoms &atoms, const std::vector<Slide> &slides) {
  std::vector<LeafSlide> found;
  for (const Slide &slide : slides) {
    const DimAtoms::Product image = atoms.leavesOf(slide.image);
    const DimAtoms::Product places = atoms.leavesOf(slide.places);
    if (image.empty()) { // one element
      atoms.keep(slide.places);
      continue;
    }
    if (image.size() > 1 || places.size() > 1)
      return std::nullopt;
    found.push_back(
        {image.front(), places.empty() ? -1 : places.front(), &slide});
  }
  return found;
}

/// The sizes that follow where images of at least `most` elements have `most`;
/// none where a window does not fit them or data do not.
static std::optional<Sizes>
follow(DimAtoms &atoms, const std::vector<LeafSlide> &slides, int64_t most) {
  Sizes sizes;
  for (const LeafSlide &each : slides) {
    auto image = sizes.find(each.image);
    if (image == sizes.end())
      image =
          sizes.emplace(each.image, std::min(most, atoms.oldSizeOf(each.image)))
              .first;
    const int64_t places = each.slide->countPlaces(image->second);
    if (each.places < 0 ? places != 1 : places < 2)
      return std::nullopt;
    if (each.places >= 0 &&
        sizes.try_emplace(each.places, places).first->second != places)
      return std::nullopt;
  }
  for (auto [leaf, size] : sizes)
    if (atoms.isFixed(leaf) && size != atoms.oldSizeOf(leaf))
      return std::nullopt;
  return sizes;
}

/// Whether samples, and what no other window slides over, divide as before.
static bool areDivisible(DimAtoms &atoms, const std::vector<LeafSlide> &slides,
                         const Sizes &sizes, const Divisors &divisors) {
  std::set<int> images;
  for (const LeafSlide &each : slides)
    images.insert(each.image);
  return llvm::all_of(sizes, [&](const auto &entry) {
    auto [leaf, size] = entry;
    const bool isSamples = divisors.samples.contains(leaf);
    if (images.count(leaf) && !isSamples)
      return true;
    const int64_t old = atoms.oldSizeOf(leaf), now = size;
    return llvm::all_of(isSamples ? divisors.ofSamples : divisors.ofAll,
                        [&](int64_t divisor) {
                          return old % divisor != 0 || now % divisor == 0;
                        });
  });
}

void shrinkImages(DimAtoms &atoms, const std::vector<Slide> &slides,
                  const Divisors &divisors) {
  int64_t largest = 0;
  for (const Slide &slide : slides)
    largest = std::max(largest, atoms.oldSizeOf(slide.image));
  // An interpreter does not train on larger ones in a proof's time.
  largest = std::min(largest, kLargestTried);
  if (auto leaves = findLeaves(atoms, slides))
    for (int64_t most = 2; most < largest; ++most)
      if (auto sizes = follow(atoms, *leaves, most);
          sizes && areDivisible(atoms, *leaves, *sizes, divisors)) {
        for (auto [leaf, size] : *sizes)
          atoms.set(leaf, size);
        return;
      }
  for (const Slide &slide : slides) {
    atoms.keep(slide.image);
    atoms.keep(slide.places);
  }
}

} // namespace zc
