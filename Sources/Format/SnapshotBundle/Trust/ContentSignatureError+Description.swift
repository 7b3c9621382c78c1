import RemoteSettingsModel

extension ContentSignatureError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidRootHash(let found, let reason):
            "\(VisibleText.quote(found)) is not a root hash: \(reason); write a SHA-256 as 64 hexadecimal digits or as C8:A8:…"
        case .emptyChain:
            "the certificate chain is empty; expected PEM text with leaf, intermediates and root"
        case .chainTooLarge(let bytes, let limit):
            "the certificate chain has \(bytes) bytes; the limit chainBytes is \(limit)"
        case .tooManyCertificates(let limit):
            "the certificate chain has more certificates than the limit chainCertificates, \(limit)"
        case .notPEM(let found):
            "expected -----BEGIN CERTIFICATE----- in the certificate chain, found \(found); "
                + "check that the URL serves a PEM chain"
        case .truncatedPEM(let certificate):
            "the certificate chain ends inside certificate \(certificate); get the whole chain"
        case .malformedPEM(let certificate, let reason):
            "certificate \(certificate) of the chain is not base64: \(reason)"
        case .malformedCertificate(let certificate, let reason):
            "certificate \(certificate) of the chain cannot be decoded as X.509: \(VisibleText.quote(reason))"
        case .incompleteChain(let only):
            "the chain has only one certificate, \(VisibleText.quote(only.subject)); expected leaf, intermediates and root"
        case .reordered(let expected):
            "the chain's certificates are in the wrong order; expected them from leaf to root, in the order "
                + expected.map { "\($0.position)" }.joined(separator: ", ")
        case .unrelatedCertificate(let certificate):
            "\(certificate) does not belong to the chain, which is complete without it"
        case .notIssuedByNext(let certificate, let issuer, let next):
            "\(certificate) names the issuer \(VisibleText.quote(issuer)), but \(next) follows it; a certificate is missing or "
                + "wrong"
        case .rootMissing(let last):
            "the chain ends with \(VisibleText.quote(last.subject)), which another certificate issued; expected a root at the end"
        case .untrustedRoot(let found, let pinned):
            "the chain's root has the hash \(found), which is not pinned; "
                + (pinned.isEmpty ? "no root is pinned" : "pinned: \(Counted.list(pinned))")
                + "; pin it only if its owner publishes that hash"
        case .expired(let certificate, let notBefore, let notAfter, let time):
            "\(certificate) expired: valid \(validity(notBefore, notAfter)), verified at \(time.rfc3339); "
                + "get the collection again from its server, or check the verification time"
        case .notYetValid(let certificate, let notBefore, let notAfter, let time):
            "\(certificate) is not valid yet: valid \(validity(notBefore, notAfter)), verified at \(time.rfc3339); "
                + "check the verification time"
        case .wrongSigner(let expected, let found):
            "the leaf certificate is for \(found.isEmpty ? "no DNS name" : list(found)), expected one for \(expected)"
        case .wrongKeyType(let certificate, let found):
            "\(certificate) has the key \(VisibleText.quote(found)); expected P-384"
        case .leafIsAuthority(let certificate):
            "\(certificate) may issue certificates; expected an end-entity certificate first"
        case .notAnAuthority(let certificate):
            "\(certificate) issued another one, but is not an authority (basicConstraints CA)"
        case .pathLengthExceeded(let certificate, let limit, let found):
            "\(certificate) allows at most \(limit) intermediates below it; the chain has \(found)"
        case .missingKeyUsage(let certificate, let usage):
            "\(certificate) does not have the key usage \(usage)"
        case .missingExtendedKeyUsage(let certificate, let found):
            "\(certificate) has the extended key usage \(list(found)); expected codeSigning"
        case .nameNotPermitted(let certificate, let name, let issuer, let permitted):
            "\(certificate) has the name \(VisibleText.quote(name)), but \(issuer) permits only \(list(permitted))"
        case .nameExcluded(let certificate, let name, let issuer, let excluded):
            "\(certificate) has the name \(VisibleText.quote(name)), but \(issuer) excludes \(VisibleText.quote(excluded))"
        case .unsupportedNameConstraint(let issuer, let form, let certificate):
            "\(issuer) restricts the names of \(certificate) by the form \(form); only DNS names are supported"
        case .unknownCriticalExtension(let certificate, let oid):
            "\(certificate) has the critical extension \(oid), which is not supported"
        case .malformedExtension(let certificate, let oid, let reason):
            "\(certificate) has an extension \(oid) that cannot be decoded: \(VisibleText.quote(reason))"
        case .notVersion3(let certificate):
            "\(certificate) is not an X.509 certificate of version 3, which extensions require"
        case .weakSignatureAlgorithm(let certificate, let algorithm):
            "\(certificate) is signed with \(algorithm), which is too weak"
        case .invalidCertificateSignature(let certificate, let issuer):
            "\(certificate) is not signed by the key of \(issuer)"
        case .malformedBase64(let reason):
            "the signature is not base64url: \(reason)"
        case .wrongSignatureLength(let found):
            "the signature has \(found) bytes; expected \(RawSignature.byteCount), r and s of P-384"
        case .signatureOutOfRange(let component, .zero):
            "the signature's \(component) is zero; expected 1 or more"
        case .signatureOutOfRange(let component, .notBelowOrder):
            "the signature's \(component) is not below the order of P-384"
        case .signatureMismatch(let signer):
            "the signature of \(signer) does not match these records and this timestamp: the data was changed, "
                + "or the signature belongs to another state; get both again from their source"
        case .noSignatures(let collection):
            "\(collection) has no signature; it can be used only if the configuration accepts unsigned collections"
        case .noChains(let collection):
            "\(collection) has a signature without a certificate chain (its x5u is empty), as a development server "
                + "makes it with a bare key; it cannot be verified: accept the collection as unsigned "
                + "(accept-unsigned: true under trust: in dumps.yaml, acceptsUnsigned in an app), or configure a chain "
                + "on the server"
        case .tooManySignatures(let collection, let count, let limit):
            "\(collection) has \(count) signatures; the limit signatures is \(limit)"
        case .onlyUnknownModes(let collection, let modes):
            "\(collection) has signatures only in the modes \(list(modes)); expected p384ecdsa"
        case .chainMissing(let x5u):
            "the certificate chain \(VisibleText.quote(x5u)) is missing; fetch and verify it first"
        case .newerThanVerification(let collection, let timestamp, let time):
            "\(collection): expected a timestamp at most a day after the verification at \(time.rfc3339), found "
                + "\(timestamp) (\(timestamp.rfc3339)); correct the clock or the given time, or fetch the collection "
                + "again"
        case .chainUnavailable(let reason):
            "the certificate chain could not be fetched: \(reason)"
        case .signerMismatch(let expected, let chain):
            "the certificate chain is for \(chain); expected one for \(expected)"
        case .noValidSignature(let collection, let failures):
            "\(collection) has no valid signature: " + failures.map(\.description).joined(separator: "; ")
        }
    }

    private func validity(_ notBefore: Timestamp, _ notAfter: Timestamp) -> String {
        "from \(notBefore.rfc3339) to \(notAfter.rfc3339)"
    }

    private func list(_ texts: [String]) -> String {
        Counted.list(texts.lazy.map { VisibleText.quote($0) })
    }
}
