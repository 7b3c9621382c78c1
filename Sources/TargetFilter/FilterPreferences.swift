/// Preferences for `preferenceValue`, `preferenceIsUserSet` and `preferenceExists`.
public struct FilterPreferences: Sendable, Hashable {
    /// Every preference that exists, with its value.
    public var values: [String: FilterValue]
    /// The names of those that the user has set.
    public var userSet: Set<String>

    public init(values: [String: FilterValue] = [:], userSet: Set<String> = []) {
        self.values = values
        self.userSet = userSet
    }
}
