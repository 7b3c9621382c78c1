/// The byte range requested by a `Range` header (RFC 9110 §14).
package enum ByteRange: Equatable {
    /// The whole representation, because the request has no range, an invalid range, or several ranges, which a server
    /// may ignore.
    case whole
    case part(Range<Int>)
    /// The range contains no existing byte: status 416.
    case unsatisfiable

    /// Parses a `Range` header.
    ///
    /// - Parameter size: the size of the representation, in bytes.
    package init(_ header: String, size: Int) {
        self = .whole
        guard header.utf8.count <= 200, let equals = header.firstIndex(of: "="),
            header[..<equals].lowercased() == "bytes"
        else { return }
        let specification = header[header.index(after: equals)...].drop { $0 == " " }
        let ends = specification.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else { return }
        // A number that does not fit into an `Int` is past the end of any file.
        let first = ends[0].isEmpty ? nil : Int(ends[0]) ?? Int.max
        let last = ends[1].isEmpty ? nil : Int(ends[1]) ?? Int.max
        switch (first, last) {
        case (let first?, let last):
            guard first <= last ?? Int.max else { return }
            self = first < size ? .part(first..<min(last ?? size, size - 1) + 1) : .unsatisfiable
        case (nil, let suffix?):
            self = suffix > 0 && size > 0 ? .part(max(0, size - suffix)..<size) : .unsatisfiable
        case (nil, nil): return
        }
    }
}
