//===- GradientOps.h - what only says how gradients flow --------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_GRADIENTOPS_H
#define ZC_DIALECTS_TRAIN_GRADIENTOPS_H

#include "dialects/Train/TrainDialect.h"

#define GET_OP_CLASSES
#include "dialects/Train/GradientOps.h.inc"

#endif // ZC_DIALECTS_TRAIN_GRADIENTOPS_H
