"""Loads the trained model in TensorFlow: python verify.py [FOLDER]. The scores are those of hlorun; prints the
accuracy."""

import os
import sys

import numpy as np
import tensorflow as tf

folder = sys.argv[1] if len(sys.argv) > 1 else "tensorflow-out"
digits = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../digits")
images, labels = np.load(f"{digits}/test_images.npy"), np.load(f"{digits}/test_labels.npy")
model = tf.saved_model.load(f"{folder}/trained")
scores = model.signatures["serving_default"](images=tf.constant(images))["scores"].numpy()
np.testing.assert_allclose(np.load(f"{folder}/scores.npz")["out0"], scores, rtol=1e-4, atol=1e-4)
print(f"test accuracy: {100 * np.mean(scores.argmax(1) == labels):.1f}%")
