/// The transforms of the language, by their names.
enum FilterTransform: String, CaseIterable {
    case date
    case versionCompare
    case length
    case keys
    case values
    case mapToProperty
    case regExpMatch
    case stableSample
    case bucketSample
    case preferenceValue
    case preferenceIsUserSet
    case preferenceExists
}
