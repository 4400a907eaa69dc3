//! The files of the known sets, by their SHA-256 after decompression.
//!
//! Those of Fashion-MNIST and CIFAR-10 were computed from files that equal the distributors' by
//! the distributors' own checksums; those of MNIST are the published ones.

use super::set::ImageSet;

/// A file of a known set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// As its distributor names it, without `.gz`.
    pub name: &'static str,
    /// SHA-256 after decompression, in hexadecimal.
    pub sha256: &'static str,
}

const fn file(name: &'static str, sha256: &'static str) -> KnownFile {
    KnownFile { name, sha256 }
}

/// Training images, training labels, test images, test labels.
pub(super) const FASHION_MNIST: [KnownFile; 4] = [
    file(
        "train-images-idx3-ubyte",
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    file(
        "train-labels-idx1-ubyte",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    file(
        "t10k-images-idx3-ubyte",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    file(
        "t10k-labels-idx1-ubyte",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
];

/// Training images, training labels, test images, test labels.
pub(super) const MNIST: [KnownFile; 4] = [
    file(
        "train-images-idx3-ubyte",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    file(
        "train-labels-idx1-ubyte",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    file(
        "t10k-images-idx3-ubyte",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    file(
        "t10k-labels-idx1-ubyte",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
];

/// Five training batches and the test batch.
pub(super) const CIFAR_10: [KnownFile; 6] = [
    file("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
    file("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
    file("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
    file("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
    file("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
    file("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
];

/// Training images, training labels, test images, test labels of the embedded sample.
pub(super) const SAMPLE: [KnownFile; 4] = [
    file(
        "fashion-mnist-sample-train-images.idx",
        "1f5ce739baf0cdd9c49fc5321dca5300320d52e4ad9bdbde6a021f1aebbd184a",
    ),
    file(
        "fashion-mnist-sample-train-labels.idx",
        "3d92bfe288448cfb0d022c3524d4a8ac276755b0869f32474dbcf3297fa0212c",
    ),
    file(
        "fashion-mnist-sample-test-images.idx",
        "93b61fd9304d712c63f34c193e3b3dc560a355f376c4fa259c700a47dbf6b506",
    ),
    file(
        "fashion-mnist-sample-test-labels.idx",
        "fb6d63cab4b3e13e2e1c83b0ca1c8a9aa9850abfd3f443f4582789dcc168f3ee",
    ),
];

/// The known set and file whose content has this SHA-256.
pub fn known(sha256: &str) -> Option<(&'static str, KnownFile)> {
    ImageSet::all().iter().find_map(|set| {
        let file = set.files.iter().find(|file| file.sha256 == sha256)?;
        Some((set.name, *file))
    })
}
