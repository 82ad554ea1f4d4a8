// `zc sign`: says who has made an artifact.
#include "runtime/Plan/KeyFile.h"
#include "runtime/Plan/Signature.h"
#include "tools/zc-run/TrustOptions.h"

#include <cstdio>

namespace zc {

namespace {

struct SignArguments {
  std::string artifact, key, newKey, output;
};

Result<int> sign(const SignArguments &given) {
  ZC_ASSIGN_OR_RETURN(Crypto crypto, Crypto::open());
  if (!given.newKey.empty()) {
    ZC_RETURN_IF_ERROR(writeNewKeys(crypto, given.newKey));
    std::printf("wrote '%s', which stays with you, and '%s.pub' for zc run "
                "--trust\n",
                given.newKey.c_str(), given.newKey.c_str());
    return 0;
  }
  ZC_ASSIGN_OR_RETURN(Seed seed, readPrivateKey(given.key));
  const std::string &target =
      given.output.empty() ? given.artifact : given.output;
  // Only an artifact is signed.
  ZC_RETURN_IF_ERROR(Artifact::load(given.artifact).status());
  ZC_RETURN_IF_ERROR(signArtifact(crypto, given.artifact, seed, target));
  const PublicKey key = crypto.publicKey(seed);
  std::printf("signed '%s' by key %s\n", target.c_str(),
              toHex(key.data(), key.size()).c_str());
  return 0;
}

int run(const CLI::App &app, const SignArguments &given) {
  if (given.newKey.empty() == given.key.empty())
    throw CLI::ValidationError("expected --key FILE and an artifact to sign, "
                               "or --new-key FILE alone");
  if (!given.newKey.empty() && (!given.artifact.empty() || app.count("-o")))
    throw CLI::ValidationError("--new-key", "signs nothing: it goes alone");
  if (given.newKey.empty() && given.artifact.empty())
    throw CLI::RequiredError("artifact");
  return finish(sign(given));
}

} // namespace

Command addSignCommand(CLI::App &app) {
  auto given = std::make_shared<SignArguments>();
  app.add_option("artifact", given->artifact, "the artifact, OUT.zca");
  app.add_option("--key", given->key,
                 "file with an Ed25519 private key (PEM, as openssl genpkey "
                 "-algorithm ed25519 writes it)")
      ->type_name("FILE");
  app.add_option("-o,--output", given->output,
                 "write the signed artifact there [in its place]")
      ->type_name("FILE");
  app.add_option("--new-key", given->newKey,
                 "draw a key: FILE is the private one, FILE.pub the public one")
      ->type_name("FILE");
  return [given, &app] { return run(app, *given); };
}

} // namespace zc
