"""Training by tf.distribute.MultiWorkerMirroredStrategy."""

import hashlib
import json
import os

import tensorflow as tf

STEPS = 5

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]

with strategy.scope():
    weights = tf.Variable(tf.zeros([8, 1]))


def loss_of(inputs):
    return tf.reduce_mean((inputs @ weights - tf.reduce_sum(inputs, axis=1, keepdims=True)) ** 2)


def replica_step(inputs):
    with tf.GradientTape() as tape:
        loss = loss_of(inputs)
    gradient = tape.gradient(loss, weights)
    total = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradient)
    weights.assign_sub(0.1 * total)
    return loss


@tf.function
def train_step(inputs):
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica_step, args=(inputs,)), axis=None)


tf.random.set_seed(task)  # different inputs for each worker
losses = [float(train_step(tf.random.normal([32, 8]))) for _ in range(STEPS)]
print(f"worker {task} of {strategy.num_replicas_in_sync}: "
      f"the loss {'fell' if losses[-1] < losses[0] / 2 else 'stayed'}, "
      f"the weights are {hashlib.sha256(weights.numpy().tobytes()).hexdigest()}", flush=True)
