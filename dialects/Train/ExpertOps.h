//===- ExpertOps.h - products with one of several matrices ------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_EXPERTOPS_H
#define ZC_DIALECTS_TRAIN_EXPERTOPS_H

#include "dialects/Train/TrainDialect.h"

#define GET_OP_CLASSES
#include "dialects/Train/ExpertOps.h.inc"

#endif // ZC_DIALECTS_TRAIN_EXPERTOPS_H
