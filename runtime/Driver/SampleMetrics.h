// The metrics of EvaluationMetrics.h, by name.
#ifndef ZC_RUNTIME_DRIVER_SAMPLEMETRICS_H
#define ZC_RUNTIME_DRIVER_SAMPLEMETRICS_H

#include "runtime/Driver/EvaluationMetrics.h"

namespace zc {

/// The share of labels that are among the five classes of the largest logits.
std::unique_ptr<SampleMetric> makeTopFive();

/// The mean over classes of 2 tp / (2 tp + fp + fn), as scikit-learn's "macro"
/// average: of classes that are a label or were predicted.
std::unique_ptr<SampleMetric> makeClassF1(int64_t classes);

/// The same of yes or no, by the sign of logits: over all columns, those of one
/// sample's elements.
std::unique_ptr<SampleMetric> makeBinaryF1(int64_t columns);

/// The mean of what outputs and labels differ by.
std::unique_ptr<SampleMetric> makeMeanAbsoluteError();

/// 1 - the residuals' sum of squares / that of the labels around their mean,
/// averaged over columns, as scikit-learn's r2_score.
std::unique_ptr<SampleMetric> makeR2(int64_t columns);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SAMPLEMETRICS_H
