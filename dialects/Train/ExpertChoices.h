//===- ExpertChoices.h - how many experts a token has -----------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_EXPERTCHOICES_H
#define ZC_DIALECTS_TRAIN_EXPERTCHOICES_H

#include "dialects/Train/ExpertOps.h"

namespace zc::train {

/// How many rows in a row are of one token, by the product of a layer that rows
/// enter by: as often as tokens are repeated for it, or the columns of the
/// tensor of choices. 1 where neither is seen.
int64_t countChoices(GroupedMatmulOp product);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_EXPERTCHOICES_H
