import HTTPTypes
import RemoteSettingsHTTP
import RemoteSettingsModel

extension HTTPFields {
    /// Whether the client accepts gzip (RFC 9110 §12.5.3): by name or through `*`, and not with a weight of 0.
    package var acceptsGzip: Bool {
        acceptsCoding("gzip", "x-gzip") ?? acceptsCoding("*") ?? false
    }

    /// The file that the client already has and can use as a delta dictionary (RFC 9842); `nil` for most clients.
    var dictionary: SHA256Digest? {
        guard let name = HTTPField.Name("Available-Dictionary"), let dictionary = self[name],
            acceptsCoding(FileDelta.coding) == true
        else { return nil }
        return FileDelta.dictionary(dictionary)
    }

    /// Whether the client prefers the metadata exactly as this server received it (`Prefer`, RFC 7240).
    var prefersReceivedMetadata: Bool {
        guard let name = HTTPField.Name("Prefer") else { return false }
        return elements(of: name).contains { $0.lowercased() == Changeset.mirroredMetadata }
    }

    /// Returns whether the client accepts any of these codings; `nil` if the header lists none of them.
    private func acceptsCoding(_ names: String...) -> Bool? {
        for element in elements(of: .acceptEncoding) {
            let parts = element.split(separator: ";", maxSplits: 1)
            guard let coding = parts.first?.lowercased().trimmed, names.contains(coding) else { continue }
            return !parts.dropFirst().contains(where: Self.isRefused)
        }
        return nil
    }

    /// Returns whether the client lists a media type as acceptable (RFC 9110 §12.5.1), and not with a weight of 0.
    ///
    /// Wildcards do not count: a browser that loads a page lists `text/html`, while other programs often send `*/*`.
    package func accepts(_ type: String) -> Bool {
        elements(of: .accept).contains { element in
            let parts = element.split(separator: ";", maxSplits: 1)
            return parts.first?.lowercased().trimmed == type && !parts.dropFirst().contains(where: Self.isRefused)
        }
    }

    /// Returns the elements of a list header (RFC 9110 §5.6.1).
    private func elements(of name: HTTPField.Name) -> [String] {
        (self[name] ?? "").split(separator: ",").map { String($0).trimmed }.filter { !$0.isEmpty }
    }

    /// Returns whether the parameters of a list element include a weight of 0.
    private static func isRefused(_ parameters: Substring) -> Bool {
        let weight = parameters.filter { $0 != " " }.lowercased()
        return weight.hasPrefix("q=0") && !weight.dropFirst(3).contains { ("1"..."9").contains($0) }
    }

    /// Returns whether the client already has this representation (RFC 9110 §13.1.2, §13.1.3, in the order of §13.2.2).
    ///
    /// - Parameter tag: the entity tag, with its quotation marks.
    package func isNotModified(tag: String, lastModified: Timestamp?) -> Bool {
        if contains(.ifNoneMatch) {
            return elements(of: .ifNoneMatch).contains { element in
                let weak = element.hasPrefix("W/") ? element.dropFirst(2) : element[...]
                return element == "*" || weak == tag
            }
        }
        guard let lastModified, let text = self[.ifModifiedSince],
            let time = HTTPDate.parse(text, now: lastModified)
        else { return false }
        return lastModified.seconds <= time.seconds
    }

    /// Returns whether to honor a `Range` (RFC 9110 §13.1.5): `If-Range` is absent or matches exactly this
    /// representation.
    package func allowsRange(tag: String, lastModified: Timestamp?) -> Bool {
        guard let condition = self[.ifRange] else { return true }
        return condition == tag || lastModified.map(HTTPDate.text) == condition
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
