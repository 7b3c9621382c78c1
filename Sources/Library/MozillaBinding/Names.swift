import RemoteSettings

// Names of Mozilla's binding for what has another name here.

/// A file that belongs to a record.
public typealias Attachment = RemoteSettingsAttachment
/// A record's fields, as JSON text.
public typealias RsJsonObject = String
/// The configuration's name before version 152.
public typealias RemoteSettingsConfig2 = RemoteSettingsConfig
