/// A path as part of a regular expression.
enum PathPattern {
    /// - Parameter path: a path, decoded or not. Every character stands for itself.
    static func escape(_ path: String) -> String {
        path.unicodeScalars.reduce(into: "") { text, scalar in
            let isPlain =
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "/", "-", "_": true
                default: !scalar.isASCII
                }
            text += isPlain ? "\(scalar)" : "\\\(scalar)"
        }
    }
}
