/// A bucket, or a prefix in a bucket, in the notation of its client.
package struct StorePlace: Hashable, Sendable, CustomStringConvertible {
    package enum Client: Hashable, Sendable {
        /// The AWS command line, with the bucket's name.
        case aws(bucket: String)
        /// rclone, with the text before the first slash: `REMOTE:BUCKET`.
        case rclone(bucket: String)
    }

    package let client: Client
    /// The beginning of every key; empty, or with a slash at the end.
    package let prefix: String

    /// - Parameter text: `s3://BUCKET/PREFIX` for the AWS command line, `REMOTE:BUCKET/PREFIX` for rclone. The prefix
    ///   may be missing.
    /// - Returns: `nil` if the text has another form.
    package init?(_ text: String) {
        let (place, isAWS) = text.hasPrefix("s3://") ? (text.dropFirst(5), true) : (text[...], false)
        guard isAWS || !text.contains("://"), place.first != "-", place.allSatisfy({ $0.isASCII && !$0.isNewline })
        else { return nil }
        // An rclone connection string, such as :s3,endpoint="https://…":bucket, may have slashes before its last
        // colon.
        let start = isAWS ? place.startIndex : place.lastIndex(of: ":").map(place.index(after:)) ?? place.endIndex
        let slash = place[start...].firstIndex(of: "/") ?? place.endIndex
        let bucket = place[start..<slash]
        let parts = place[slash...].split(separator: "/", omittingEmptySubsequences: true)
        guard !bucket.isEmpty, start > place.startIndex || isAWS, !parts.contains(where: { [".", ".."].contains($0) })
        else { return nil }
        client = isAWS ? .aws(bucket: String(bucket)) : .rclone(bucket: String(place[..<slash]))
        prefix = parts.isEmpty ? "" : parts.joined(separator: "/") + "/"
    }

    package var description: String {
        switch client {
        case .aws(let bucket): "s3://\(bucket)/\(prefix)"
        // A connection string may have credentials before its last colon.
        case .rclone(let bucket):
            (bucket.hasPrefix(":") ? ":…:" + (bucket.split(separator: ":").last ?? "") : bucket) + "/\(prefix)"
        }
    }
}
