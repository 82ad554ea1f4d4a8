#include "runtime/Driver/SampleMetrics.h"
#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"
#include "runtime/Io/Convert.h"
#include "runtime/Plan/Types.h"

#include <cmath>
#include <cstring>

namespace zc {

namespace {

using Batch = SampleMetric::Batch;

template <typename T> T loadAt(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

/// Calls `body` with a function from an index to an element, as a double.
template <typename Body>
void withElements(plan::DataType type, const char *data, Body body) {
  switch (type) {
  case plan::F64:
    return body([=](int64_t i) { return loadAt<double>(data, i); });
  case plan::F16:
    return body([=](int64_t i) {
      return double(halfToFloat(loadAt<uint16_t>(data, i)));
    });
  case plan::BF16:
    return body([=](int64_t i) {
      return double(bfloat16ToFloat(loadAt<uint16_t>(data, i)));
    });
  default:
    assert(type == plan::F32 && "a loss is of floating-point outputs");
    return body([=](int64_t i) { return double(loadAt<float>(data, i)); });
  }
}

int64_t innerOf(const plan::TensorType &type, int64_t dim) {
  int64_t inner = 1;
  for (int i = int(dim) + 1; i < type.dims_size(); ++i)
    inner *= type.dims(i);
  return inner;
}

/// Whether the element is of a sample and not of padding.
bool counts(const Batch &batch, int64_t index) {
  if (batch.batchDim < 0)
    return true;
  int64_t inner = innerOf(batch.labelType, batch.batchDim);
  return index / inner % batch.labelType.dims(int(batch.batchDim)) <
         batch.samples;
}

/// The element's place among those of its sample.
int64_t columnOf(const Batch &batch, int64_t index) {
  if (batch.batchDim < 0)
    return 0;
  int64_t inner = innerOf(batch.labelType, batch.batchDim);
  int64_t size = batch.labelType.dims(int(batch.batchDim));
  int64_t column = index / (inner * size) * inner + index % inner;
  return batch.columns.empty() ? column : batch.columns[size_t(column)];
}

/// Calls `visit(logits, label)` for every label that counts, where logits maps
/// a class to its logit.
template <typename Visit> void forEachLabel(const Batch &batch, Visit visit) {
  const int64_t classes = batch.outputType.dims(int(batch.classAxis));
  const int64_t inner = innerOf(batch.outputType, batch.classAxis);
  const int64_t labels = *elementCount(batch.labelType);
  withElements(batch.outputType.dtype(), batch.output, [&](auto at) {
    for (int64_t i = 0; i < labels; ++i) {
      int64_t label = integerAt(batch.labels, batch.labelType.dtype(), i);
      bool ignored =
          batch.range.has_ignored() && label == batch.range.ignored();
      if (ignored || !counts(batch, i))
        continue;
      int64_t first = i / inner * classes * inner + i % inner;
      visit([&](int64_t c) { return at(first + c * inner); }, label);
    }
  });
}

/// Calls `visit(output, label, column)` for every element that counts.
template <typename Visit> void forEachElement(const Batch &batch, Visit visit) {
  const int64_t count = *elementCount(batch.labelType);
  withElements(batch.outputType.dtype(), batch.output, [&](auto output) {
    withElements(batch.labelType.dtype(), batch.labels, [&](auto label) {
      for (int64_t i = 0; i < count; ++i)
        if (counts(batch, i))
          visit(output(i), label(i), columnOf(batch, i));
    });
  });
}

std::vector<double> addUp(const std::vector<std::vector<double>> &ranks) {
  std::vector<double> sums(ranks.front().size());
  for (const std::vector<double> &rank : ranks)
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += rank[i];
  return sums;
}

/// Sums over samples, the same of all ranks' samples.
class SumMetric : public SampleMetric {
public:
  explicit SumMetric(size_t count) : sums(count) {}
  std::vector<double> found() const override { return sums; }

protected:
  std::vector<double> sums;
};

class TopFive : public SumMetric {
public:
  TopFive() : SumMetric(2) {}

  void add(const Batch &batch) override {
    const int64_t classes = batch.outputType.dims(int(batch.classAxis));
    forEachLabel(batch, [&](auto logit, int64_t label) {
      const double own = logit(label);
      int before = 0; // of equal ones the first comes first
      for (int64_t c = 0; c < classes && before < 5; ++c)
        before += c < label ? logit(c) >= own : logit(c) > own;
      sums[0] += before < 5 && !std::isnan(own);
      sums[1] += 1;
    });
  }

  double value(const std::vector<std::vector<double>> &ranks) const override {
    std::vector<double> all = addUp(ranks);
    return all[0] / all[1];
  }
};

/// Counts for every class true positives, false positives, false negatives.
class F1 : public SumMetric {
public:
  F1(int64_t classes, bool countsUnseen)
      : SumMetric(size_t(3 * classes)), countsUnseen(countsUnseen) {}

  double value(const std::vector<std::vector<double>> &ranks) const override {
    std::vector<double> all = addUp(ranks);
    double sum = 0, classes = 0;
    for (size_t c = 0; c < all.size(); c += 3) {
      double of = 2 * all[c] + all[c + 1] + all[c + 2];
      if (of == 0 && !countsUnseen)
        continue;
      sum += of == 0 ? 0 : 2 * all[c] / of;
      classes += 1;
    }
    return sum / classes;
  }

protected:
  void note(int64_t kind, bool said, bool right) {
    if (said && right)
      sums[size_t(3 * kind)] += 1;
    else if (said || right)
      sums[size_t(3 * kind + (said ? 1 : 2))] += 1;
  }

private:
  bool countsUnseen;
};

class ClassF1 : public F1 {
public:
  explicit ClassF1(int64_t classes) : F1(classes, false), classes(classes) {}

  void add(const Batch &batch) override {
    forEachLabel(batch, [&](auto logit, int64_t label) {
      int64_t said = 0;
      for (int64_t c = 1; c < classes; ++c)
        if (logit(c) > logit(said))
          said = c;
      note(said, true, said == label);
      if (said != label)
        note(label, false, true);
    });
  }

private:
  int64_t classes;
};

class BinaryF1 : public F1 {
public:
  explicit BinaryF1(int64_t columns) : F1(columns, true) {}

  void add(const Batch &batch) override {
    forEachElement(batch, [&](double logit, double label, int64_t column) {
      note(column, logit > 0, label > 0.5);
    });
  }
};

class MeanAbsoluteError : public SumMetric {
public:
  MeanAbsoluteError() : SumMetric(2) {}

  void add(const Batch &batch) override {
    forEachElement(batch, [&](double output, double label, int64_t) {
      sums[0] += std::abs(output - label);
      sums[1] += 1;
    });
  }

  double value(const std::vector<std::vector<double>> &ranks) const override {
    std::vector<double> all = addUp(ranks);
    return all[0] / all[1];
  }
};

/// Sums for every column: the number of labels, their mean, the sum of squares
/// around it (by Welford's method, which loses nothing if the mean is large),
/// and that of residuals.
class R2 : public SumMetric {
public:
  explicit R2(int64_t columns) : SumMetric(size_t(4 * columns)) {}

  void add(const Batch &batch) override {
    forEachElement(batch, [&](double output, double label, int64_t column) {
      double *of = &sums[size_t(4 * column)];
      of[0] += 1;
      double before = label - of[1];
      of[1] += before / of[0];
      of[2] += before * (label - of[1]);
      of[3] += (output - label) * (output - label);
    });
  }

  double value(const std::vector<std::vector<double>> &ranks) const override {
    double sum = 0;
    for (size_t c = 0; c < sums.size(); c += 4) {
      double count = 0, mean = 0, squares = 0, residuals = 0;
      for (const std::vector<double> &rank : ranks) {
        double more = rank[c], apart = rank[c + 1] - mean;
        if (more == 0)
          continue;
        squares += rank[c + 2] + apart * apart * count * more / (count + more);
        mean += apart * more / (count + more);
        count += more;
        residuals += rank[c + 3];
      }
      // Labels that are all equal: as scikit-learn has it.
      sum += squares > 0 ? 1 - residuals / squares : double(residuals == 0);
    }
    return sum / double(sums.size() / 4);
  }
};

} // namespace

std::unique_ptr<SampleMetric> makeTopFive() {
  return std::make_unique<TopFive>();
}
std::unique_ptr<SampleMetric> makeClassF1(int64_t classes) {
  return std::make_unique<ClassF1>(classes);
}
std::unique_ptr<SampleMetric> makeBinaryF1(int64_t columns) {
  return std::make_unique<BinaryF1>(columns);
}
std::unique_ptr<SampleMetric> makeMeanAbsoluteError() {
  return std::make_unique<MeanAbsoluteError>();
}
std::unique_ptr<SampleMetric> makeR2(int64_t columns) {
  return std::make_unique<R2>(columns);
}

} // namespace zc
