import RemoteSettingsModel
import X509

/// Checks by names alone that each certificate was issued by the next one. If not, it finds the reason.
///
/// Names prove nothing, and signatures are checked separately. But names show whether the order is wrong, a certificate
/// is missing, or one does not belong to the chain.
struct ChainOrder {
    let certificates: [ChainCertificate]

    /// Checks the order.
    ///
    /// - Throws: `reordered`, `unrelatedCertificate`, `notIssuedByNext` or `rootMissing` of ``Failure``.
    func check() throws(Failure) {
        for (certificate, next) in zip(certificates, certificates.dropFirst())
        where certificate.x509.issuer != next.x509.subject {
            throw fault(at: certificate, next)
        }
        guard let last = certificates.last, last.isSelfIssued else {
            throw .rootMissing(last: certificates[certificates.count - 1].label)
        }
    }

    private func fault(at certificate: ChainCertificate, _ next: ChainCertificate) -> Failure {
        let leaves = certificates.indices.filter { index in
            !certificates.indices.contains { $0 != index && issuer(of: $0) == index }
        }
        if leaves.count == 1 {
            let path = path(from: leaves[0])
            if path.count == certificates.count {
                return .reordered(expected: path.map { certificates[$0].label })
            }
        }
        let path = path(from: 0)
        if let end = path.last, certificates[end].isSelfIssued,
            let stranger = certificates.indices.first(where: { !path.contains($0) })
        {
            return .unrelatedCertificate(certificates[stranger].label)
        }
        return .notIssuedByNext(certificate.label, issuer: "\(certificate.x509.issuer)", next: next.label)
    }

    private func issuer(of index: Int) -> Int? {
        guard !certificates[index].isSelfIssued else { return nil }
        return certificates.indices.first { certificates[$0].x509.subject == certificates[index].x509.issuer }
    }

    private func path(from start: Int) -> [Int] {
        var path = [start]
        while let next = issuer(of: path[path.count - 1]), !path.contains(next) {
            path.append(next)
        }
        return path
    }
}
