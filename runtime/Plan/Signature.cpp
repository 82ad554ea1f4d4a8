#include "runtime/Plan/Signature.h"
#include "runtime/Plan/KeyFile.h"
#include "runtime/Plan/ZipWriter.h"

#include <algorithm>
#include <sstream>
#include <sys/stat.h>

namespace zc {

namespace {

constexpr const char *kFormat = "zc-signature-1";
constexpr std::string_view kHashMark = "sha256:";

/// The text that is signed: names, sizes and hashes of all entries but the
/// signature, in their order.
Result<std::string> describe(const ZipReader &zip, const Crypto &crypto) {
  std::string text = strCat(kFormat, "\n");
  for (const ZipEntry &entry : zip.entries()) {
    if (entry.name == kSignatureEntry)
      continue;
    ZC_ASSIGN_OR_RETURN(std::string_view bytes, zip.view(entry));
    const Hash256 hash = crypto.sha256(bytes);
    zip.release(bytes);
    text += strCat(entry.name.size(), " ", entry.name, " ", entry.size, " ",
                   toHex(hash.data(), hash.size()), "\n");
  }
  return text;
}

struct Signed {
  PublicKey key;
  Signature signature;
};

Result<Signed> readSignature(const ZipReader &zip) {
  const ZipEntry *entry = zip.find(kSignatureEntry);
  if (!entry)
    return Status(StatusCode::NotFound, "is not signed");
  ZC_ASSIGN_OR_RETURN(std::string text, zip.read(*entry));
  std::istringstream words(text);
  std::string format, key, signature;
  Signed found;
  if (words >> format >> key >> signature && format == kFormat &&
      fromHex(key, found.key.data(), found.key.size()) &&
      fromHex(signature, found.signature.data(), found.signature.size()))
    return found;
  return Status(StatusCode::Corrupt, "has a signature of no known form");
}

bool isHash(const std::string &text) { return text.rfind(kHashMark, 0) == 0; }

/// Whether the artifact has this hash, or a sound signature of this key.
Result<bool> isTrusted(const ZipReader &zip, const Crypto &crypto,
                       const std::string &text,
                       const Result<Signed> &signedBy) {
  if (isHash(text)) {
    Hash256 wanted;
    return fromHex(text.substr(kHashMark.size()), wanted.data(),
                   wanted.size()) &&
           areEqual(crypto.sha256(zip.bytes()), wanted);
  }
  ZC_ASSIGN_OR_RETURN(PublicKey key, readPublicKey(text));
  if (!signedBy.ok() || !areEqual(key, signedBy->key))
    return false;
  ZC_ASSIGN_OR_RETURN(std::string text_, describe(zip, crypto));
  return crypto.verify(signedBy->signature, text_, key);
}

} // namespace

Status signArtifact(const Crypto &crypto, const std::string &path,
                    const Seed &seed, const std::string &target) {
  ZC_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::open(path));
  ZC_ASSIGN_OR_RETURN(std::string text, describe(zip, crypto));
  // The signed copy gets the access rights of the artifact.
  struct stat info;
  constexpr mode_t kPrivate = 0600, kRights = 0777;
  const mode_t mode =
      ::stat(path.c_str(), &info) == 0 ? info.st_mode & kRights : kPrivate;
  ZC_ASSIGN_OR_RETURN(ZipWriter out, ZipWriter::create(target, mode));
  for (const ZipEntry &entry : zip.entries()) {
    if (entry.name == kSignatureEntry)
      continue;
    ZC_ASSIGN_OR_RETURN(std::string_view bytes, zip.view(entry));
    ZC_RETURN_IF_ERROR(out.addBytes(entry.name, bytes));
    zip.release(bytes);
  }
  const PublicKey key = crypto.publicKey(seed);
  const Signature signature = crypto.sign(text, seed);
  ZC_RETURN_IF_ERROR(
      out.addBytes(kSignatureEntry,
                   strCat(kFormat, "\n", toHex(key.data(), key.size()), "\n",
                          toHex(signature.data(), signature.size()), "\n")));
  return out.finish();
}

std::string checkTrusted(const std::string &text) {
  Hash256 hash;
  if (isHash(text) &&
      !fromHex(text.substr(kHashMark.size()), hash.data(), hash.size()))
    return "expected 64 hexadecimal digits behind 'sha256:', as sha256sum "
           "prints them, or a file with a public key; found '" +
           text + "'";
  if (text.size() == 2 * hash.size() && fromHex(text, hash.data(), hash.size()))
    return "a hash is given as sha256:" + text;
  return "";
}

Status checkTrust(const ZipReader &zip,
                  const std::vector<std::string> &trusted) {
  if (trusted.empty())
    return Status();
  ZC_ASSIGN_OR_RETURN(Crypto crypto, Crypto::open());
  const Result<Signed> signedBy = readSignature(zip);
  for (const std::string &each : trusted) {
    Result<bool> is = isTrusted(zip, crypto, each, signedBy);
    if (!is.ok())
      return is.status().withContext("--trust");
    if (*is)
      return Status();
  }
  const Hash256 hash = crypto.sha256(zip.bytes());
  const std::string found =
      signedBy.ok() ? "is signed by another key, or was changed since"
                    : signedBy.status().message();
  return makeError(StatusCode::InvalidArgument, "'", zip.path(), "' ", found,
                   ", and its hash is sha256:", toHex(hash.data(), hash.size()),
                   ": none that --trust names; nothing of it was run");
}

} // namespace zc
